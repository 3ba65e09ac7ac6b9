//! Captures in, one run out: each capture read and tracked, conversations numbered over all of them,
//! captures matched packet by packet and put on one clock. Plain Rust, so that all of it can be tested
//! and fuzzed without Python.

mod capture;
mod follow;
mod open;
mod pair;
mod udp_vantage;
mod view;

pub use capture::Capture;
pub use follow::Follower;
pub use udp_vantage::Hosts;
pub use view::{DirectionView, FlowView, RoundView, UdpView};

use crate::pair::Path;
use crate::read::{Input, ReadError};
use crate::track::{by_content, unify, Dissected, Member, Threads};

/// Captures that were read, and what they show together.
#[derive(Default)]
pub struct Run {
    pub captures: Vec<Capture>,
    /// By capture and local flow: number of the conversation over all captures.
    pub numbers: Vec<Vec<u32>>,
    /// The same of UDP, by its kept conversations.
    pub udp_numbers: Vec<Vec<u32>>,
    /// Empty when no conversation was seen twice.
    pub paths: Vec<Path>,
}

/// What a caller does while a run is read.
pub trait Watcher {
    type Error: From<ReadError>;

    /// `read` of `total` bytes (0 when unknown) are done. False ends reading as if the files ended here.
    fn progress(&mut self, read: u64, total: u64) -> Result<bool, Self::Error>;

    /// Called now and then between steps that have no progress to report.
    fn pause(&mut self) -> Result<(), Self::Error>;
}

/// Nobody watches.
impl Watcher for () {
    type Error = ReadError;

    fn progress(&mut self, _read: u64, _total: u64) -> Result<bool, ReadError> {
        Ok(true)
    }

    fn pause(&mut self) -> Result<(), ReadError> {
        Ok(())
    }
}

/// Reads captures once, and those that share conversations a second time to match their packets. On
/// any number of threads the result is the same.
pub fn run<W: Watcher>(inputs: &[Input], threads: Threads, watcher: &mut W) -> Result<Run, W::Error> {
    run_with(inputs, Vec::new(), threads, watcher)
}

/// The same with what a dissector shows of the first captures.
pub fn run_with<W: Watcher>(
    inputs: &[Input],
    dissected: Vec<Dissected>,
    threads: Threads,
    watcher: &mut W,
) -> Result<Run, W::Error> {
    let mut captures = open::all(inputs, dissected, threads, watcher)?;
    let tcp: Vec<Vec<Member>> = captures.iter().map(Capture::members).collect();
    let udp: Vec<Vec<Member>> = captures.iter().map(Capture::udp_members).collect();
    let [numbers, mut udp_numbers] = numbered(&tcp, &udp);
    by_content(captures.iter_mut().map(|capture| &mut capture.udp).collect(), &mut udp_numbers);
    let paths = pair::pair(&mut captures, inputs, [&numbers, &udp_numbers], watcher)?;
    Ok(Run { captures, numbers, udp_numbers, paths })
}

/// Numbers of the conversations of TCP, and behind them those of UDP, each in the order of first packets.
fn numbered(tcp: &[Vec<Member>], udp: &[Vec<Member>]) -> [Vec<Vec<u32>>; 2] {
    let [tcp, mut udp] = [tcp, udp].map(unify);
    let next = tcp.iter().flatten().map(|number| number + 1).max().unwrap_or(0);
    udp.iter_mut().flatten().for_each(|number| *number += next);
    [tcp, udp]
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod udp_tests;
