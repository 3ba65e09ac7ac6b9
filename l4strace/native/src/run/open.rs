//! Each capture from its file through decoding and tracking.

use super::capture::Capture;
use super::Watcher;
use crate::packet::Packet;
use crate::pair::Interfaces;
use crate::read::{self, Input, ReadError, Sink};
use crate::track::{self, Dissected, Pipeline, Threads, UdpFlows};

/// Buffers (256 KiB each) between two calls of the watcher.
const REPORT_EVERY: u32 = 32;

pub fn all<W: Watcher>(
    inputs: &[Input],
    dissected: Vec<Dissected>,
    threads: Threads,
    watcher: &mut W,
) -> Result<Vec<Capture>, W::Error> {
    let total = inputs.iter().map(Input::size).sum();
    let mut done = 0;
    let mut captures = Vec::with_capacity(inputs.len());
    let mut dissected = dissected.into_iter();
    for input in inputs {
        let udp = UdpFlows::with(dissected.next().unwrap_or_default());
        let (capture, read) = capture(input, udp, threads, |read| watcher.progress(done + read, total))?;
        done += read;
        captures.push(capture);
    }
    Ok(captures)
}

/// Reads one capture to its end, or until `report` (bytes read) returns false.
fn capture<E: From<ReadError>>(
    input: &Input,
    mut udp: UdpFlows,
    threads: Threads,
    mut report: impl FnMut(u64) -> Result<bool, E>,
) -> Result<(Capture, u64), E> {
    let mut stream = read::open(input)?;
    let mut interfaces = Interfaces::default();
    let tracker = track::follow(threads, |pipeline| {
        let mut traffic = Traffic { pipeline, udp: &mut udp, interfaces: &mut interfaces };
        let mut more = true;
        while more {
            for _ in 0..REPORT_EVERY {
                more = more && stream.next_batch(&mut traffic)?;
            }
            more = report(stream.progress().read)? && more;
        }
        Ok::<_, E>(())
    })?;
    udp.finish();
    let mut capture = Capture::new(stream.info().clone(), stream.stats().clone(), tracker, udp);
    capture.apart = interfaces.apart(i64::from(stream.info().resolution_ns));
    Ok((capture, stream.progress().read))
}

/// Each transport goes to what follows it.
struct Traffic<'t, 'scope, 'env> {
    pipeline: &'t mut Pipeline<'scope, 'env>,
    udp: &'t mut UdpFlows,
    interfaces: &'t mut Interfaces,
}

impl Sink for Traffic<'_, '_, '_> {
    #[inline]
    fn packets(&mut self, packets: &[Packet]) {
        packets.iter().for_each(|packet| self.interfaces.segment(packet));
        self.pipeline.packets(packets);
    }

    fn datagram(&mut self, packet: &Packet, payload: &[u8]) {
        self.interfaces.datagram(packet, payload);
        self.udp.datagram(packet, payload);
    }
}
