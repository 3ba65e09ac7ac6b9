//! Reads captures into memory and follows their packets: what `make instructions` counts the cost of.
//! `track CAPTURE...` prints packets of TCP, datagrams and rounds of each.

use std::env;
use std::hint::black_box;

use l4strace_native::packet::Packet;
use l4strace_native::read::{reason, Decoder, Input, ReadError, Sink, Source};
use l4strace_native::track::{Tracker, UdpFlows};

#[derive(Default)]
struct Followed {
    tracker: Tracker,
    udp: UdpFlows,
    packets: u64,
    datagrams: u64,
}

impl Sink for Followed {
    fn packets(&mut self, packets: &[Packet]) {
        self.packets += packets.len() as u64;
        self.tracker.packets(packets);
    }

    fn datagram(&mut self, packet: &Packet, payload: &[u8]) {
        self.datagrams += 1;
        self.udp.datagram(packet, payload);
    }
}

fn main() -> Result<(), String> {
    for path in env::args().skip(1) {
        let bytes = whole(&path).map_err(|error| error.to_string())?;
        let followed = black_box(follow(black_box(&bytes))?);
        println!("{} {} {}", followed.packets, followed.datagrams, followed.tracker.rounds.iter().count());
    }
    Ok(())
}

fn whole(path: &str) -> Result<Vec<u8>, ReadError> {
    let mut source = Source::open(&Input::from(path))?;
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 1 << 20]);
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(got) => bytes.extend_from_slice(&buffer[..got]),
            Err(error) => return Err(ReadError::new(path, reason(&error))),
        }
    }
}

/// Callgrind counts within this function alone.
#[inline(never)]
#[no_mangle]
fn follow(bytes: &[u8]) -> Result<Followed, String> {
    let mut decoder = Decoder::new(&bytes[..bytes.len().min(24)])?;
    let mut followed = Followed::default();
    decoder.feed(bytes, &mut followed);
    followed.tracker.finish();
    followed.udp.finish();
    Ok(followed)
}
