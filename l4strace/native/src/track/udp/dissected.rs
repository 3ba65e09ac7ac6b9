//! What a dissector that has the keys shows of QUIC packets, as lines of text: their numbers, and what they acknowledge.
//! A line is a datagram; what of it is not understood is as if the dissector had not decrypted it.

/// Fields of a line in their order, as Wireshark names them; tabs part them, and commas the values of one.
pub const FIELDS: [&str; 15] = [
    "frame.number",
    "quic.header_form",
    "quic.long.packet_type",
    "quic.packet_number",
    "quic.frame_type",
    "quic.ack.largest_acknowledged",
    "quic.ack.ack_delay",
    "quic.ack.ack_range_count",
    "quic.ack.first_ack_range",
    "quic.ack.gap",
    "quic.ack.ack_range",
    "quic.ack.ect0_count",
    "quic.ack.ect1_count",
    "quic.ack.ecn_ce_count",
    "tls.quic.parameter.ack_delay_exponent",
];

/// Datagrams, and ranges in their acknowledgements, that are kept: 200 MB of each at most.
const MOST: usize = 1 << 23;
/// Longest line; longer ones are passed over.
const LONGEST: usize = 1 << 20;
/// RFC 9000 section 18.2.
const LARGEST_EXPONENT: u8 = 20;
/// Numbers have 62 bits (RFC 9000 section 17.1).
const LARGEST: i64 = (1 << 62) - 1;
/// Values of `quic.long.packet_type`.
const ZERO_RTT: &str = "1";
/// Values of `quic.frame_type` (RFC 9000 section 19): what is not acknowledged for itself, and ACK with counts.
const PADDING: &str = "0";
const ACK: &str = "2";
const ACK_ECN: &str = "3";
const CONNECTION_CLOSE: [&str; 2] = ["28", "29"];

/// One datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub frame: u64,
    /// Number of its packet of application data; null where it has none.
    pub number: Option<i64>,
    /// The peer acknowledges it.
    pub eliciting: bool,
    /// What its sender shifts delays by, where a handshake shows it.
    pub exponent: Option<u8>,
    acks: (u32, u32),
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked<'d> {
    /// First and last number of each range, the highest first.
    pub ranges: &'d [(i64, i64)],
    /// Time from the arrival of the highest one, not yet shifted.
    pub delay: u64,
    /// Packets so far with ECT(0), ECT(1) and CE.
    pub ecn: Option<[u64; 3]>,
}

#[derive(Clone, Copy, Debug)]
struct Ack {
    ranges: (u32, u32),
    delay: u64,
    ecn: Option<[u64; 3]>,
}

/// The datagrams of one capture, in its order.
#[derive(Clone, Debug, Default)]
pub struct Dissected {
    shown: Vec<Shown>,
    acks: Vec<Ack>,
    ranges: Vec<(i64, i64)>,
    /// The line that has not ended.
    begun: Vec<u8>,
    /// The next one to be asked for.
    at: usize,
    /// Datagrams beyond [`MOST`].
    pub left_out: u64,
}

impl Dissected {
    /// Takes a piece of the text, of any size.
    pub fn feed(&mut self, text: &[u8]) {
        for piece in text.split_inclusive(|byte| *byte == b'\n') {
            if self.begun.len() + piece.len() <= LONGEST {
                self.begun.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                self.line(line.trim_ascii_end());
                self.begun = line;
                self.begun.clear();
            }
        }
    }

    /// Datagrams whose packet numbers are known.
    pub fn len(&self) -> usize {
        self.shown.iter().filter(|shown| shown.number.is_some()).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn line(&mut self, line: &[u8]) {
        let before = (self.acks.len(), self.ranges.len());
        let text = std::str::from_utf8(line).ok();
        let Some(shown) = text.and_then(|text| self.parsed(text)) else {
            self.acks.truncate(before.0);
            self.ranges.truncate(before.1);
            return;
        };
        if self.shown.len() >= MOST || self.ranges.len() > MOST {
            self.left_out += 1;
        } else if self.shown.last().is_none_or(|last| last.frame < shown.frame) {
            self.shown.push(shown);
        }
    }

    fn parsed(&mut self, line: &str) -> Option<Shown> {
        let mut fields = [""; FIELDS.len()];
        let mut values = line.split('\t');
        fields.iter_mut().zip(&mut values).for_each(|(field, value)| *field = value);
        let [frame, forms, long, numbers, kinds, ..] = fields;
        let exponent = of(fields[14]).last().and_then(|text| text.parse().ok());
        let mut shown = Shown {
            frame: frame.parse().ok()?,
            exponent: exponent.filter(|exponent| *exponent <= LARGEST_EXPONENT),
            ..Shown::default()
        };
        // A short header comes last (RFC 9000 section 12.2).
        let packets = of(forms).count();
        let is_data = of(forms).next_back() == Some("0") || of(long).next_back() == Some(ZERO_RTT);
        if is_data && packets == of(numbers).count() {
            shown.number = Some(number(of(numbers).next_back()?)?);
            let alone = packets == 1;
            shown.eliciting = !alone || of(kinds).any(is_eliciting);
            // Of several packets, whose frame is whose is not shown: the next acknowledgement has it all.
            if alone {
                let first = self.acks.len() as u32;
                self.acknowledgements(&fields)?;
                shown.acks = (first, self.acks.len() as u32);
            }
        }
        (shown.number.is_some() || shown.exponent.is_some()).then_some(shown)
    }

    fn acknowledgements(&mut self, fields: &[&str; FIELDS.len()]) -> Option<()> {
        let [mut delays, mut counts, mut firsts, mut gaps, mut lengths] =
            [6, 7, 8, 9, 10].map(|at| of(fields[at]));
        let mut counted = [11, 12, 13].map(|at| of(fields[at]));
        let mut kinds = of(fields[4]).filter(|kind| [ACK, ACK_ECN].contains(kind));
        for largest in of(fields[5]) {
            let (begin, mut high) = (self.ranges.len() as u32, number(largest)?);
            let mut low = high.checked_sub(number(firsts.next()?)?).filter(|low| *low >= 0)?;
            self.ranges.push((low, high));
            for _ in 0..number(counts.next()?)? {
                // RFC 9000 section 19.3.1.
                high = low.checked_sub(number(gaps.next()?)?)?.checked_sub(2)?;
                low = high.checked_sub(number(lengths.next()?)?).filter(|low| *low >= 0)?;
                self.ranges.push((low, high));
            }
            let ecn = match kinds.next()? == ACK_ECN {
                true => {
                    let [ect0, ect1, ce] = counted.each_mut().map(|values| number(values.next()?));
                    Some([ect0? as u64, ect1? as u64, ce? as u64])
                }
                false => None,
            };
            let delay = delays.next()?.parse().ok()?;
            self.acks.push(Ack { ranges: (begin, self.ranges.len() as u32), delay, ecn });
        }
        Some(())
    }

    /// What is shown of a frame; frames are asked for in the order of the capture.
    #[inline]
    pub fn of(&mut self, frame: u64) -> Option<Shown> {
        while let Some(shown) = self.shown.get(self.at).filter(|shown| shown.frame <= frame) {
            self.at += 1;
            if shown.frame == frame {
                return Some(*shown);
            }
        }
        None
    }

    /// What one of its datagrams acknowledges.
    pub fn acks(&self, shown: &Shown) -> impl Iterator<Item = Acked<'_>> {
        self.acks[shown.acks.0 as usize..shown.acks.1 as usize].iter().map(|ack| Acked {
            ranges: &self.ranges[ack.ranges.0 as usize..ack.ranges.1 as usize],
            delay: ack.delay,
            ecn: ack.ecn,
        })
    }
}

/// The values of a field.
fn of(field: &str) -> impl DoubleEndedIterator<Item = &str> + Clone {
    field.split(',').filter(|value| !value.is_empty())
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number| (0..=LARGEST).contains(number))
}

fn is_eliciting(kind: &str) -> bool {
    ![PADDING, ACK, ACK_ECN].contains(&kind) && !CONNECTION_CLOSE.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with a short header: number, kinds of frames, and the fields of acknowledgements.
    pub fn short(frame: u64, number: u64, kinds: &str, ack: &str) -> String {
        format!("{frame}\t0\t\t{number}\t{kinds}\t{}\n", ack.replace(' ', "\t"))
    }

    fn read(text: &str, size: usize) -> Dissected {
        let mut dissected = Dissected::default();
        text.as_bytes().chunks(size).for_each(|piece| dissected.feed(piece));
        dissected
    }

    #[test]
    fn numbers_ranges_and_counts_are_read_in_pieces_of_any_size() {
        let text = short(3, 7, "8", "") + &short(5, 2, "3,12", "9 25 2 1 0,1 2,0 4 0 1") + "9\t1\t2\t0\t6\n";
        for size in [1, 7, 4096] {
            let mut dissected = read(&text, size);
            assert_eq!((dissected.len(), dissected.left_out), (2, 0));
            let data = dissected.of(3).unwrap();
            assert_eq!((data.number, data.eliciting, dissected.acks(&data).count()), (Some(7), true, 0));
            assert_eq!(dissected.of(4), None);
            let ack = dissected.of(5).unwrap();
            let [acked] = dissected.acks(&ack).collect::<Vec<_>>()[..] else { panic!() };
            assert_eq!(acked.ranges, [(8, 9), (4, 6), (1, 1)]);
            assert_eq!((acked.delay, acked.ecn), (25, Some([4, 0, 1])));
            assert_eq!(dissected.of(9), None, "a handshake");
        }
    }

    #[test]
    fn what_only_acknowledges_is_not_acknowledged() {
        let mut dissected = read(&(short(1, 1, "2,0", "9 0 0 1") + &short(2, 2, "2,12", "9 0 0 1")), 4096);
        assert!(!dissected.of(1).unwrap().eliciting);
        assert!(dissected.of(2).unwrap().eliciting);
    }

    #[test]
    fn two_acknowledgements_of_one_packet_keep_their_ranges_apart() {
        let mut dissected = read(&short(1, 1, "3,2", "9,30 1,2 1,0 0,5 0 3 7 0 2"), 4096);
        let shown = dissected.of(1).unwrap();
        let found: Vec<_> = dissected.acks(&shown).map(|ack| (ack.ranges.to_vec(), ack.ecn)).collect();
        assert_eq!(found, [(vec![(9, 9), (4, 7)], Some([7, 0, 2])), (vec![(25, 30)], None)]);
    }

    #[test]
    fn of_packets_that_share_a_datagram_the_last_has_the_number() {
        let mut dissected = read("6\t1,1,0\t0,2\t3,4,5\t2,0,2,6\t1,2\t0,0\t0,0\t1,0\t\t\t\t\t\t10\n", 4096);
        let shown = dissected.of(6).unwrap();
        assert_eq!((shown.number, shown.eliciting, shown.exponent), (Some(5), true, Some(10)));
        assert_eq!(dissected.acks(&shown).count(), 0);
    }

    #[test]
    fn lines_that_make_no_sense_are_as_if_nothing_had_been_decrypted() {
        let over = format!("{}", 1u64 << 62);
        let lines = [
            short(1, 1, "3", "9 0 0 10"),
            short(1, 1, "3", "9 0 1 1 7 9"),
            short(1, 1, "3", "9 0 4000000000 0 0 0"),
            short(1, 1, "3", "9 0 0 1   4 x 1"),
            short(1, 1, "3", &format!("{over} 0 0 1")),
            "1\t0\t\t\t\n".into(),
            "1\t0\t\t-4\t8\n".into(),
            "\t0\t\t4\t8\n".into(),
            "\n\u{0}\n\t\t\t\n".into(),
            "9".repeat(LONGEST + 7) + "\n",
        ];
        for line in lines {
            let found = read(&line, 4096);
            assert!(found.is_empty() && found.acks.is_empty() && found.ranges.is_empty(), "{line:.80}");
        }
        assert_eq!(read(&(short(5, 1, "8", "") + &short(4, 2, "8", "")), 4096).len(), 1, "out of order");
    }
}
