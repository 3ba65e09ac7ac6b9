//! A capture that something else is still writing, tracked piece by piece.

use std::fs::File;
use std::io::Read;

use super::capture::Capture;
use super::Run;
use crate::packet::Packet;
use crate::read::{reason, Decoder, ReadError, Sink, SourceInfo};
use crate::stats::Stats;
use crate::track::{Tracker, UdpFlows};

/// Bytes read at once.
const PIECE: u64 = 1 << 22;
/// As many as identify the format of a file.
const START: usize = 24;

/// A plain pcap or pcapng file that grows.
pub struct Follower<R = File> {
    path: String,
    file: R,
    decoder: Option<Decoder>,
    /// Read but not yet a whole record.
    held: Vec<u8>,
    /// Bytes to come that the decoder does not want to see.
    skip: u64,
    ended: bool,
    run: Run,
    /// By kept conversation of UDP, how many of TCP had begun when it was kept.
    begun: Vec<u32>,
}

impl Follower {
    pub fn open(path: &str) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|e| ReadError::new(path, reason(&e)))?;
        Ok(Follower::new(path, file))
    }
}

impl<R: Read> Follower<R> {
    pub fn new(path: &str, file: R) -> Self {
        let info = SourceInfo { path: path.to_owned(), ..SourceInfo::default() };
        let run = Run {
            captures: vec![Capture::new(info, Stats::default(), Tracker::default(), UdpFlows::default())],
            numbers: vec![Vec::new()],
            udp_numbers: vec![Vec::new()],
            paths: Vec::new(),
        };
        let path = path.to_owned();
        Follower {
            path,
            file,
            decoder: None,
            held: Vec::new(),
            skip: 0,
            ended: false,
            run,
            begun: Vec::new(),
        }
    }

    /// Tracks what was added since the last call. Flows are those of all calls so far; rounds only those
    /// that ended since [`Follower::forget_rounds`], so that memory does not grow with time.
    pub fn poll(&mut self) -> Result<&mut Run, ReadError> {
        self.read_on()?;
        let capture = &mut self.run.captures[0];
        capture.tracker.flush();
        if let Some(decoder) = &self.decoder {
            capture.info.clone_from(&decoder.info);
            capture.info.path.clone_from(&self.path);
            capture.read.clone_from(&decoder.stats);
        }
        let serials: Vec<u32> = capture.tracker.flows.iter().map(|flow| flow.serial).collect();
        let next = capture.tracker.serials();
        self.begun.resize(capture.udp.kept().count(), next);
        let begun = &self.begun;
        // So many conversations of UDP have a number below this one.
        let before = |serial: u32| begun.partition_point(|&tcp| tcp <= serial) as u32;
        self.run.numbers[0] = serials.into_iter().map(|serial| serial + before(serial)).collect();
        self.run.udp_numbers[0] =
            capture.udp.kept().map(|flow| begun[flow.serial as usize] + flow.serial).collect();
        Ok(&mut self.run)
    }

    /// Drops the rounds that the last poll showed.
    pub fn forget_rounds(&mut self) {
        self.run.captures[0].tracker.forget_rounds();
    }

    fn read_on(&mut self) -> Result<(), ReadError> {
        while !self.ended {
            let before = self.held.len();
            let file = &mut self.file;
            let got = file.take(PIECE).read_to_end(&mut self.held);
            let got = got.map_err(|e| ReadError::new(&self.path, reason(&e)))?;
            let skipped = self.skip.min(got as u64);
            self.held.drain(before..before + skipped as usize);
            self.skip -= skipped;
            self.consume()?;
            if got == 0 {
                break;
            }
        }
        Ok(())
    }

    fn consume(&mut self) -> Result<(), ReadError> {
        if self.decoder.is_none() {
            if self.held.len() < START {
                return Ok(());
            }
            let decoder = Decoder::new(&self.held[..START]);
            self.decoder = Some(decoder.map_err(|why| ReadError::new(&self.path, why))?);
        }
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        let (done, wanted) = decoder.feed(&self.held, &mut self.run.captures[0]);
        let here = done.min(self.held.len() as u64);
        self.held.drain(..here as usize);
        self.skip += done - here;
        self.ended = wanted.is_none();
        Ok(())
    }
}

impl Sink for Capture {
    fn packets(&mut self, packets: &[Packet]) {
        self.tracker.packets(packets);
    }

    fn datagram(&mut self, packet: &Packet, payload: &[u8]) {
        self.udp.datagram(packet, payload);
    }
}
