//! The end of a file of lines that a crash may have torn.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Makes the file end in a whole line and answers its length.
///
/// What stands behind the last newline was never answered. It is cut off when it is a piece of a
/// line of ours; anything else (a whole object, somebody's text) is history, and only gets its
/// newline.
pub(super) fn repair(file: &File, line_start: &[u8]) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let start = last_line_start(file, length)?;
    if start == length {
        return Ok(length);
    }
    let mut rest = Vec::new();
    (&mut &*file).seek(SeekFrom::Start(start))?;
    (&mut &*file).read_to_end(&mut rest)?;
    let shared = rest.len().min(line_start.len());
    let ours = rest[..shared] == line_start[..shared];
    let whole = serde_json::from_slice::<serde::de::IgnoredAny>(&rest).is_ok();
    if ours && !whole {
        file.set_len(start)?;
        return Ok(start);
    }
    (&mut &*file).write_all(b"\n")?;
    Ok(length + 1)
}

/// Where the bytes behind the last newline begin; `length` when there are none.
fn last_line_start(mut file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut block = [0; 4096];
    while end > 0 {
        let size = end.min(block.len() as u64);
        let start = end - size;
        let read = &mut block[..usize::try_from(size).unwrap_or(usize::MAX)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(read)?;
        if let Some(at) = read.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Makes the file durable, and its name in its folder.
pub(super) fn sync_with_folder(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}
