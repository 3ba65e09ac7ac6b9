//! A sample of a direction's datagrams that is the same at every capture which saw them, chosen by what they hold.

use crate::digest::digest;
use crate::packet::Packet;

/// Datagrams that stand for a direction: those with the smallest digests.
const MOST: usize = 16;

/// Bytes of a payload that choose: as many as a short snapshot length leaves behind the longest headers.
const BYTES: usize = 16;

/// One datagram of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    pub digest: u64,
    pub ts_ns: i64,
    pub ttl: u8,
    /// Others hold the same: no capture shows which of them this is.
    repeated: bool,
}

/// The datagrams with the smallest digests, smallest first.
#[derive(Clone, Debug, Default)]
pub struct Sample(Vec<Sampled>);

impl Sample {
    #[inline]
    pub(super) fn add(&mut self, packet: &Packet, payload: &[u8]) {
        let digest = digest(&payload[..payload.len().min(BYTES)], packet.payload_len);
        if self.0.len() < MOST || self.0.last().is_some_and(|largest| digest <= largest.digest) {
            self.put(Sampled { digest, ts_ns: packet.ts_ns, ttl: packet.ttl, repeated: false });
        }
    }

    fn put(&mut self, one: Sampled) {
        match self.0.binary_search_by_key(&one.digest, |kept| kept.digest) {
            Ok(at) => self.0[at].repeated = true,
            Err(at) => {
                self.0.truncate(MOST - 1);
                self.0.insert(at, one);
            }
        }
    }

    /// Those that nothing else in the capture can be taken for.
    pub fn distinct(&self) -> impl Iterator<Item = &Sampled> {
        self.0.iter().filter(|one| !one.repeated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl Iterator<Item = u32>) -> Sample {
        let mut sample = Sample::default();
        for number in numbers {
            let payload = number.to_be_bytes();
            sample.add(&Packet { ts_ns: i64::from(number), payload_len: 4, ..Packet::default() }, &payload);
        }
        sample
    }

    #[test]
    fn captures_of_different_stretches_share_what_both_saw() {
        let (early, late) = (of(0..9000), of(1000..10_000));
        let late: Vec<u64> = late.distinct().map(|one| one.digest).collect();
        let shared = early.distinct().filter(|one| late.contains(&one.digest));
        assert!(shared.count() >= MOST / 2);
        assert_eq!(early.0.len(), MOST);
    }

    #[test]
    fn what_is_sent_again_and_again_is_no_sign() {
        assert_eq!(of((0..5000).map(|_| 7)).distinct().count(), 0);
        assert_eq!(of((0..5000).map(|n| n % 3)).0.len(), 3);
    }
}
