use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::*;

/// A disk with a size, that can fail a sync and be slow at it.
#[derive(Default)]
struct FakeDisk {
    bytes: Mutex<Vec<u8>>,
    room: AtomicUsize,
    stuck: AtomicBool,
    syncs: AtomicUsize,
    failing_syncs: AtomicUsize,
    slow: Option<Barrier>,
}

impl FakeDisk {
    fn with_room(room: usize) -> Self {
        Self { room: AtomicUsize::new(room), ..Self::default() }
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
    }
}

impl Disk for &FakeDisk {
    /// Writes what fits, as a full disk does.
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut held = self.bytes.lock().unwrap();
        let room = self.room.load(Ordering::SeqCst).saturating_sub(held.len());
        held.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        if self.stuck.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::Other.into());
        }
        self.bytes.lock().unwrap().truncate(usize::try_from(length).unwrap());
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        if let Some(slow) = &self.slow {
            slow.wait();
        }
        let failing = self.failing_syncs.load(Ordering::SeqCst);
        if failing > 0 {
            self.failing_syncs.store(failing - 1, Ordering::SeqCst);
            return Err(io::ErrorKind::Other.into());
        }
        Ok(())
    }
}

fn appender(disk: &FakeDisk, durability: Durability) -> Appender<&FakeDisk> {
    Appender::new(disk, 0, "ledger", durability)
}

#[test]
fn a_full_disk_leaves_no_half_line_and_goes_on_when_there_is_room() {
    let disk = FakeDisk::with_room(10);
    let file = appender(&disk, Durability::EachAnswer);
    assert_eq!(file.append(b"first\n"), Ok(()));
    let why = file.append(b"second\n").unwrap_err();
    assert!(why.starts_with("no room left for ledger: free some"), "{why}");
    assert_eq!(disk.text(), "first\n");
    disk.room.store(100, Ordering::SeqCst);
    assert_eq!(file.append(b"second\n"), Ok(()));
    assert_eq!(disk.text(), "first\nsecond\n");
}

#[test]
fn a_half_line_that_cannot_be_taken_back_stops_writing_until_it_can() {
    let disk = FakeDisk::with_room(10);
    let file = appender(&disk, Durability::OnFlush);
    assert_eq!(file.append(b"first\n"), Ok(()));
    disk.stuck.store(true, Ordering::SeqCst);
    assert!(file.append(b"second\n").is_err());
    disk.room.store(100, Ordering::SeqCst);
    assert!(file.append(b"third\n").is_err(), "it would follow half a line");
    assert_eq!(disk.text(), "first\nseco");
    disk.stuck.store(false, Ordering::SeqCst);
    assert_eq!(file.append(b"third\n"), Ok(()));
    assert_eq!(disk.text(), "first\nthird\n");
}

#[test]
fn a_failed_sync_takes_back_what_it_was_for() {
    let disk = FakeDisk::with_room(100);
    let file = appender(&disk, Durability::EachAnswer);
    assert_eq!(file.append(b"first\n"), Ok(()));
    disk.failing_syncs.store(1, Ordering::SeqCst);
    let why = file.append(b"second\n").unwrap_err();
    assert!(why.starts_with("cannot write to ledger"), "{why}");
    assert_eq!(disk.text(), "first\n");
    assert_eq!(file.append(b"second\n"), Ok(()));
    assert_eq!(disk.text(), "first\nsecond\n");
}

#[test]
fn each_answer_waits_for_a_sync_and_a_flush_is_one() {
    let disk = FakeDisk::with_room(100);
    let file = appender(&disk, Durability::EachAnswer);
    assert_eq!(file.append(b"a\n"), Ok(()));
    assert_eq!(disk.syncs.load(Ordering::SeqCst), 1);
    let file = appender(&disk, Durability::OnFlush);
    assert_eq!(file.append(b"b\n"), Ok(()));
    assert_eq!(disk.syncs.load(Ordering::SeqCst), 1);
    file.flush().unwrap();
    assert_eq!(disk.syncs.load(Ordering::SeqCst), 2);
}

#[test]
fn lines_written_during_a_sync_share_the_next() {
    let disk = FakeDisk { slow: Some(Barrier::new(2)), ..FakeDisk::with_room(1_000) };
    let slow = disk.slow.as_ref().unwrap();
    let file = appender(&disk, Durability::EachAnswer);
    let written = |lines: usize| {
        while disk.bytes.lock().unwrap().len() < lines * 2 {
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        let first = scope.spawn(|| file.append(b"a\n"));
        while disk.syncs.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        let rest: Vec<_> = (0..5).map(|_| scope.spawn(|| file.append(b"b\n"))).collect();
        written(6);
        // All six lines stand; the first sync answers the first, one more answers five.
        slow.wait();
        slow.wait();
        assert_eq!(first.join().unwrap(), Ok(()));
        assert!(rest.into_iter().all(|line| line.join().unwrap() == Ok(())));
    });
    assert_eq!(disk.syncs.load(Ordering::SeqCst), 2);
    assert_eq!(disk.text(), "a\nb\nb\nb\nb\nb\n");
}

#[test]
fn a_failed_sync_fails_the_lines_written_meanwhile_too() {
    let disk = FakeDisk { slow: Some(Barrier::new(2)), ..FakeDisk::with_room(1_000) };
    disk.failing_syncs.store(1, Ordering::SeqCst);
    let file = appender(&disk, Durability::EachAnswer);
    thread::scope(|scope| {
        let first = scope.spawn(|| file.append(b"a\n"));
        while disk.syncs.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        let second = scope.spawn(|| file.append(b"b\n"));
        while disk.bytes.lock().unwrap().len() < 4 {
            thread::yield_now();
        }
        disk.slow.as_ref().unwrap().wait();
        assert!(first.join().unwrap().is_err());
        assert!(second.join().unwrap().is_err(), "its line was taken back with the first");
    });
    assert_eq!(disk.text(), "");
}
