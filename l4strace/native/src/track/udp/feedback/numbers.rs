//! The numbered packets of one source, from when they are sent until they are reported, and a little longer.

use std::collections::VecDeque;

/// Packets kept: 10 Gbit/s for 75 ms. While nothing reports on a source, what a report may cover at most.
const MOST: usize = 1 << 16;
const UNREPORTED: usize = 1 << 10;
/// Packets kept behind the highest that was reported: a late report may say that one arrived after all.
const BEHIND: i64 = 1 << 10;
/// Numbers that a source may skip, or run back by; beyond, it began anew.
const MOST_SKIPPED: i64 = 1 << 10;
/// Numbers without a packet that are kept beyond as many as have one, so that memory grows with what was captured.
const SPARE: usize = 64;

/// What became of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// Not captured.
    #[default]
    Unseen,
    Sent,
    /// Sent, and nothing waits for it: it only acknowledges others.
    Aside,
    Received,
    Lost,
}

impl Fate {
    /// Counts among what flies until a report passes it.
    fn flies(self) -> bool {
        !matches!(self, Fate::Unseen | Fate::Aside)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub ns: i64,
    /// Packets of the direction before it.
    pub serial: u64,
    pub bytes: u32,
    pub fate: Fate,
}

/// Packets and bytes, of those that were captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub packets: u32,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// Number of the first that is kept.
    first: i64,
    kept: VecDeque<Sent>,
    /// Those of them that were not captured.
    unseen: usize,
    /// Last number that was sent, and the highest that was reported.
    last: Option<i64>,
    highest: Option<i64>,
    /// Sent behind the highest that was reported.
    pub flying: Amount,
    /// Up to here none is in doubt any more.
    doubted: i64,
    /// Dropped although reports cover them, of which the capture did not hold what they say.
    unread: u64,
}

impl Numbers {
    /// A number of so many bits on the wire as the nearest to those before.
    pub fn unwrap(&self, wire: u32, bits: u32) -> i64 {
        unwrap(self.last, wire, bits)
    }

    /// A packet leaves. False where it comes out of order, or once more.
    pub fn sent(&mut self, number: i64, sent: Sent) -> bool {
        let next = self.first + self.kept.len() as i64;
        if self.kept.is_empty() || number - next > MOST_SKIPPED || self.first - number > MOST_SKIPPED {
            self.restart(number, sent);
            return true;
        }
        if number < next {
            return self.late(number, sent);
        }
        let skipped = (number - next) as usize;
        if self.unseen + skipped > SPARE + self.kept.len() - self.unseen {
            self.restart(number, sent);
            return true;
        }
        if skipped > 0 {
            self.unseen += skipped;
            self.kept.extend(std::iter::repeat_n(Sent::default(), skipped));
        }
        self.kept.push_back(sent);
        self.last = Some(number);
        self.count(number, &sent);
        self.drop_old();
        true
    }

    fn restart(&mut self, number: i64, sent: Sent) {
        let began = self.highest.filter(|highest| (number - highest).abs() <= MOST_SKIPPED);
        let (first, last, unread) = (number, Some(number), self.unread());
        *self = Numbers { first, last, highest: began, unread, ..Numbers::default() };
        self.kept.push_back(sent);
        self.count(number, &sent);
    }

    fn late(&mut self, number: i64, sent: Sent) -> bool {
        if let Some(kept) = self.get(number).filter(|kept| kept.fate == Fate::Unseen) {
            *kept = sent;
            self.unseen -= 1;
            self.count(number, &sent);
        }
        false
    }

    fn count(&mut self, number: i64, sent: &Sent) {
        if sent.fate == Fate::Sent && self.highest.is_none_or(|highest| number > highest) {
            self.flying.packets += 1;
            self.flying.bytes += u64::from(sent.bytes);
        }
    }

    fn drop_old(&mut self) {
        let most = if self.highest.is_some() { MOST } else { UNREPORTED };
        let behind = self.highest.map_or(i64::MIN, |highest| highest - BEHIND);
        while self.kept.len() > most || self.first < behind {
            let Some(old) = self.kept.pop_front() else { break };
            self.unseen -= usize::from(old.fate == Fate::Unseen);
            if old.fate == Fate::Sent {
                if self.highest.is_none_or(|highest| self.first > highest) {
                    self.take_off(&old);
                } else {
                    self.unread += 1;
                }
            }
            self.first += 1;
        }
    }

    fn take_off(&mut self, sent: &Sent) {
        self.flying.packets = self.flying.packets.saturating_sub(1);
        self.flying.bytes = self.flying.bytes.saturating_sub(u64::from(sent.bytes));
    }

    pub fn get(&mut self, number: i64) -> Option<&mut Sent> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.kept.get_mut(at)
    }

    /// Whether a number was or may have been sent: a report of others is none.
    pub fn may_be(&self, number: i64) -> bool {
        self.last.is_none_or(|last| number <= last && last - number <= MOST as i64)
    }

    /// Everything up to a number is reported: what that newly covers.
    pub fn reported_up_to(&mut self, number: i64) -> Amount {
        let before = self.flying;
        let from = self.highest.map_or(self.first, |highest| highest.saturating_add(1).max(self.first));
        for at in from..=number.min(self.first + self.kept.len() as i64 - 1) {
            if let Some(sent) = self.get(at).copied().filter(|sent| sent.fate.flies()) {
                self.take_off(&sent);
            }
        }
        self.highest = Some(self.highest.map_or(number, |highest| highest.max(number)));
        Amount { packets: before.packets - self.flying.packets, bytes: before.bytes - self.flying.bytes }
    }

    /// The first number that the next report may be about: far behind the highest all is known.
    pub fn begin(&self) -> i64 {
        self.highest.map_or(self.first, |highest| self.first.max(highest.saturating_sub(BEHIND)))
    }

    /// What was sent before a number and not received is lost: how many that newly makes.
    pub fn lost_before(&mut self, number: i64) -> u32 {
        let mut lost = 0;
        for at in self.doubted.max(self.first)..number.min(self.first + self.kept.len() as i64) {
            if let Some(sent) = self.get(at).filter(|sent| sent.fate == Fate::Sent) {
                sent.fate = Fate::Lost;
                lost += 1;
            }
        }
        self.doubted = self.doubted.max(number);
        lost
    }

    /// Packets that reports cover without a word on them that the capture holds.
    pub fn unread(&self) -> u64 {
        let highest = self.highest.unwrap_or(i64::MIN);
        let covered = (self.first..).zip(&self.kept).take_while(|(number, _)| *number <= highest);
        self.unread + covered.filter(|(_, sent)| sent.fate == Fate::Sent).count() as u64
    }
}

/// A number of so many bits on the wire as the nearest to one before it.
pub fn unwrap(near: Option<i64>, wire: u32, bits: u32) -> i64 {
    let Some(near) = near else { return i64::from(wire) };
    let step = wire.wrapping_sub(near as u32) << (32 - bits);
    near + i64::from((step as i32) >> (32 - bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(serial: u64) -> Sent {
        Sent { ns: serial as i64, serial, bytes: 100, fate: Fate::Sent }
    }

    #[test]
    fn what_flies_is_what_no_report_covers() {
        let mut numbers = Numbers::default();
        (0..10).for_each(|n| assert!(numbers.sent(1 + n, sent(n as u64))));
        assert_eq!(numbers.flying, Amount { packets: 10, bytes: 1000 });
        assert_eq!(numbers.reported_up_to(4), Amount { packets: 4, bytes: 400 });
        assert_eq!(numbers.reported_up_to(2), Amount::default(), "an older report");
        assert_eq!(numbers.flying, Amount { packets: 6, bytes: 600 });
        assert_eq!(numbers.get(4).map(|sent| sent.serial), Some(3));
    }

    #[test]
    fn gaps_are_kept_only_as_far_as_packets_were_captured() {
        let mut numbers = Numbers::default();
        numbers.sent(0, sent(0));
        numbers.reported_up_to(0);
        for (at, n) in (0..100).map(|n| n * 1000).enumerate() {
            numbers.sent(n, sent(at as u64));
            assert!(numbers.kept.len() <= 2 + SPARE);
        }
        let mut whole = Numbers::default();
        (0..500).for_each(|n| assert!(whole.sent(n, sent(n as u64))));
        whole.sent(900, sent(900));
        assert_eq!((whole.kept.len(), whole.unseen), (901, 400), "a capture that lost 400 packets");
        whole.sent(700, sent(700));
        assert_eq!(whole.unseen, 399);
    }

    #[test]
    fn numbers_wrap_and_come_late() {
        let mut numbers = Numbers::default();
        for (serial, wire) in [(0, 65_534u32), (1, 65_535), (2, 1), (3, 0)] {
            let number = numbers.unwrap(wire, 16);
            assert_eq!(numbers.sent(number, sent(serial)), wire != 0);
        }
        assert_eq!(numbers.get(65_536).map(|sent| sent.serial), Some(3));
        assert_eq!(numbers.unwrap(5, 16), 65_541);
        assert_eq!(numbers.unwrap(65_530, 16), 65_530);
    }

    #[test]
    fn memory_is_bounded_whatever_is_sent() {
        let mut numbers = Numbers::default();
        (0..10_000).for_each(|n| assert!(numbers.sent(n, sent(n as u64))));
        assert_eq!((numbers.kept.len(), numbers.flying.packets), (UNREPORTED, UNREPORTED as u32));
        numbers.reported_up_to(9_000);
        (10_000..1_000_000).for_each(|n| assert!(numbers.sent(n, sent(n as u64))));
        assert_eq!((numbers.kept.len(), numbers.flying.packets), (MOST, MOST as u32));
        assert_eq!(numbers.unseen, 0);
        numbers.sent(1 << 40, sent(7));
        assert_eq!((numbers.kept.len(), numbers.flying.packets), (1, 1), "it began anew");
    }
}
