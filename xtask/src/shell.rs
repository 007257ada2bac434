//! Other programs: each is shown before it runs, and a failure names it.

use std::env;
use std::io::{BufRead, BufReader, PipeReader, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};

/// Runs `command` and fails when it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line_of(command);
    eprintln!("  $ {line}");
    let status = command.status().with_context(|| format!("`{line}` could not be started"))?;
    check(&line, status)
}

/// Runs `command` and shows what it printed only when it fails.
pub(crate) fn run_quietly(command: &mut Command) -> Result<()> {
    let line = line_of(command);
    let output = command.output().with_context(|| format!("`{line}` could not be started"))?;
    let outcome = check(&line, output.status);
    if outcome.is_err() {
        eprint!("{}", String::from_utf8_lossy(&output.stdout));
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
    }
    outcome
}

/// Runs `command`, passing each line that it prints (either stream) on, and to `look`.
pub(crate) fn run_and_look(command: &mut Command, look: &mut dyn FnMut(&str)) -> Result<()> {
    let line = line_of(command);
    eprintln!("  $ {line}");
    let (reader, writer) = std::io::pipe().context("no pipe")?;
    command.stdout(writer.try_clone().context("no pipe")?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("`{line}` could not be started"))?;
    // Our ends of the pipe go, or the reader would wait for them for ever.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    pass_on(reader, look)?;
    check(&line, child.wait().context("it could not be waited for")?)
}

fn pass_on(reader: PipeReader, look: &mut dyn FnMut(&str)) -> Result<()> {
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).context("its output could not be read")? > 0 {
        std::io::stdout().write_all(&bytes).context("nothing can be printed")?;
        look(String::from_utf8_lossy(&bytes).trim_end());
        bytes.clear();
    }
    Ok(())
}

/// Whether a program of that name lies on the search path.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn line_of(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
        }
    }
    let program = PathBuf::from(command.get_program());
    let program = program.file_name().unwrap_or_else(|| command.get_program());
    words.push(program.to_string_lossy().into_owned());
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

fn check(line: &str, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("`{line}` failed ({status})");
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn both_streams_are_looked_at_in_order() {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; echo three"]);
        run_and_look(&mut command, &mut |line| lines.push(line.to_owned())).expect("it runs");
        assert_eq!(lines, ["one", "two", "three"]);
    }

    #[test]
    fn a_failure_names_the_program() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).expect_err("it fails");
        assert_eq!(error.to_string(), "`sh -c exit 3` failed (exit status: 3)");
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let error = run(&mut Command::new("no-such-program")).expect_err("it is missing");
        assert_eq!(error.to_string(), "`no-such-program` could not be started");
        assert_eq!(on_path("no-such-program"), None);
    }
}
