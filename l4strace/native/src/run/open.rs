//! Each capture from its file through decoding and tracking.

use super::capture::Capture;
use super::Watcher;
use crate::read::{self, Input, ReadError};
use crate::track::{self, Threads};

/// Buffers (256 KiB each) between two calls of the watcher.
const REPORT_EVERY: u32 = 32;

pub fn all<W: Watcher>(
    inputs: &[Input],
    threads: Threads,
    watcher: &mut W,
) -> Result<Vec<Capture>, W::Error> {
    let total = inputs.iter().map(Input::size).sum();
    let mut done = 0;
    let mut captures = Vec::with_capacity(inputs.len());
    for input in inputs {
        let (capture, read) = capture(input, threads, |read| watcher.progress(done + read, total))?;
        done += read;
        captures.push(capture);
    }
    Ok(captures)
}

/// Reads one capture to its end, or until `report` (bytes read) returns false.
fn capture<E: From<ReadError>>(
    input: &Input,
    threads: Threads,
    mut report: impl FnMut(u64) -> Result<bool, E>,
) -> Result<(Capture, u64), E> {
    let mut stream = read::open(input)?;
    let tracker = track::follow(threads, |crew| {
        let mut more = true;
        while more {
            for _ in 0..REPORT_EVERY {
                more = more && stream.next_batch(&mut |packets| crew.packets(packets))?;
            }
            more = report(stream.progress().read)? && more;
        }
        Ok::<_, E>(())
    })?;
    let capture = Capture::new(stream.info().clone(), stream.stats().clone(), tracker);
    Ok((capture, stream.progress().read))
}
