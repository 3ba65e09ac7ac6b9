//! Each capture from its file through decoding and tracking.

use super::capture::Capture;
use super::Watcher;
use crate::read::{self, Input, ReadError};
use crate::track::Tracker;

/// Buffers (256 KiB each) between two calls of the watcher.
const REPORT_EVERY: u32 = 32;

pub fn all<W: Watcher>(inputs: &[Input], watcher: &mut W) -> Result<Vec<Capture>, W::Error> {
    let total = inputs.iter().map(Input::size).sum();
    let mut done = 0;
    let mut captures = Vec::with_capacity(inputs.len());
    for input in inputs {
        let (capture, read) = track(input, |read| watcher.progress(done + read, total))?;
        done += read;
        captures.push(capture);
    }
    Ok(captures)
}

/// Reads one capture to its end, or until `report` (bytes read) returns false.
fn track<E: From<ReadError>>(
    input: &Input,
    mut report: impl FnMut(u64) -> Result<bool, E>,
) -> Result<(Capture, u64), E> {
    let mut stream = read::open(input)?;
    let mut tracker = Tracker::default();
    let mut more = true;
    while more {
        for _ in 0..REPORT_EVERY {
            more = more && stream.next_batch(&mut |packets| tracker.packets(packets))?;
        }
        more = report(stream.progress().read)? && more;
    }
    tracker.finish();
    let capture = Capture::new(stream.info().clone(), stream.stats().clone(), tracker);
    Ok((capture, stream.progress().read))
}
