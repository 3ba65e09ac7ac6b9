//! Header prediction leaves what the general code leaves: rows and inner state, on every capture there is.

#[path = "../fuzz/bodies.rs"]
#[allow(dead_code)]
mod bodies;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use l4strace_native::packet::Packet;
use l4strace_native::read::{self, Input};
use l4strace_native::track::Tracker;

/// Bytes of a file, compressed as it is, up to which it takes seconds.
const MOST_BYTES: u64 = 2 << 20;

fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            captures(&path, found);
        } else if name.contains(".pcap") && entry.metadata().is_ok_and(|file| file.len() <= MOST_BYTES) {
            found.push(path);
        }
    }
}

/// False where the file is no capture.
fn compare(path: &Path) -> bool {
    let Ok(mut stream) = read::open(&Input::from(&*path.to_string_lossy())) else { return false };
    let (mut predicted, mut general) = (Tracker::default(), Tracker::general());
    let both = |packets: &[Packet]| {
        predicted.packets(packets);
        general.packets(packets);
    };
    stream.for_each(both).expect("what a stream has is read");
    predicted.finish();
    general.finish();
    bodies::left_the_same(&predicted, &general);
    true
}

/// Those of the repository, and of `L4STRACE_SHARED` (default: beside it) where there are any.
#[test]
fn every_capture_is_followed_as_without_prediction() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = env::var_os("L4STRACE_SHARED").map_or(repository.join("../shared"), PathBuf::from);
    let mut found = Vec::new();
    captures(&repository.join("fixtures"), &mut found);
    captures(&shared.join("data"), &mut found);
    let (left, right) = found.split_at(found.len() / 2);
    let count = |paths: &[PathBuf]| paths.iter().filter(|path| compare(path)).count();
    let compared = thread::scope(|threads| {
        let other = threads.spawn(|| count(right));
        count(left) + other.join().expect("a thread that compares")
    });
    assert!(compared >= 30, "{compared} captures");
}
