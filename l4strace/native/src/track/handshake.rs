//! The ECN handshake as it was seen: who asked for what, and what was agreed.
//!
//! RFC 9768 section 3.1, table 2. ACE codes are written AE CWR ECE.

pub(super) mod vantage;

use crate::packet::{flag, Packet};

/// Negotiated ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    AccEcn,
    Classic,
    None,
    #[default]
    Unknown,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::AccEcn => "accecn",
            Mode::Classic => "classic",
            Mode::None => "none",
            Mode::Unknown => "unknown",
        }
    }
}

/// ACE and IP ECN of one handshake packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    pub ace: u8,
    pub ecn: u8,
    pub frame: u64,
    pub ts_ns: i64,
}

impl Shown {
    fn of(p: &Packet) -> Self {
        Shown { ace: p.ace(), ecn: p.ip_ecn, frame: p.frame, ts_ns: p.ts_ns }
    }
}

/// What the handshake packets of one conversation showed.
#[derive(Clone, Debug, Default)]
pub struct Handshake {
    pub syn: Option<Shown>,
    /// The last repetition of the SYN.
    pub retry: Option<Shown>,
    /// The first SYN/ACK, and the last one if its ACE differs.
    pub synack: Option<Shown>,
    pub synack_other: Option<Shown>,
    pub final_ack: Option<Shown>,
    pub syn_count: u16,
    pub synack_count: u16,
    pub simultaneous: bool,
    /// The client went on after the SYN/ACK.
    pub established: bool,
    pub final_acks: u16,
    pub mss: [Option<u16>; 2],
    pub wscale: [Option<u8>; 2],
    /// The snaplen cut the side's SYN or SYN/ACK before a window scale option that it may carry.
    wscale_cut: [bool; 2],
    pub sack_permitted: [bool; 2],
}

/// Codepoint that an AccECN handshake code reflects (RFC 9768 table 2 and 3).
pub fn reflected(ace: u8) -> Option<u8> {
    use crate::packet::ecn;
    match ace {
        0b010 => Some(ecn::NOT_ECT),
        0b011 => Some(ecn::ECT1),
        0b100 => Some(ecn::ECT0),
        0b110 => Some(ecn::CE),
        _ => None,
    }
}

impl Handshake {
    /// Acknowledgements report data behind a hole, unless SYN and SYN/ACK showed that they cannot.
    pub fn has_sack(&self) -> bool {
        self.syn.is_none() || self.synack.is_none() || self.sack_permitted == [true; 2]
    }

    /// A SYN or SYN/ACK.
    pub fn syn_packet(&mut self, p: &Packet, side: usize) {
        if let Some(mss) = p.mss {
            self.mss[side] = Some(mss);
        }
        if let Some(shift) = p.wscale {
            self.wscale[side] = Some(shift.min(14)); // RFC 7323 section 2.3
        }
        self.wscale_cut[side] |= p.options_cut && p.wscale.is_none();
        self.sack_permitted[side] |= p.sack_permitted;
        if p.has(flag::ACK) {
            self.synack_packet(p, side);
        } else if side == 0 {
            self.client_syn(p);
        } else {
            self.simultaneous = true;
        }
    }

    fn client_syn(&mut self, p: &Packet) {
        self.syn_count = self.syn_count.saturating_add(1);
        if self.syn.is_none() {
            self.syn = Some(Shown::of(p));
        } else {
            self.retry = Some(Shown::of(p));
        }
    }

    fn synack_packet(&mut self, p: &Packet, side: usize) {
        if side == 0 {
            return; // the client's own SYN/ACK of a simultaneous open
        }
        self.synack_count = self.synack_count.saturating_add(1);
        match self.synack {
            None => self.synack = Some(Shown::of(p)),
            Some(first) if first.ace != p.ace() => self.synack_other = Some(Shown::of(p)),
            Some(_) => {}
        }
    }

    /// The client's bare ACK of the SYN/ACK: the only one whose ACE is a code, not the counter.
    pub fn answer(&mut self, p: &Packet) {
        self.final_acks = self.final_acks.saturating_add(1);
        if self.final_ack.is_none() {
            self.final_ack = Some(Shown::of(p));
        }
    }

    /// The SYN/ACK that the client answered: of two that differ, the one that its answer fits.
    pub fn decisive_synack(&self) -> Option<Shown> {
        match (self.synack, self.synack_other, self.final_ack) {
            (Some(first), Some(other), Some(ack)) if accepts(first.ace) != accepts(other.ace) => {
                Some(if accepts(first.ace) == (ack.ace != 0) { first } else { other })
            }
            (first, ..) => first,
        }
    }

    /// ACE of the last SYN sent before the SYN/ACK.
    fn requested(&self) -> Option<u8> {
        Some(self.retry.or(self.syn)?.ace)
    }

    /// By how many bits the windows of each side are shifted: by none unless both SYNs carry the option
    /// (RFC 7323 section 2.2); `None` where the snaplen hides whether they do.
    pub fn shifts(&self) -> [Option<u8>; 2] {
        match self.wscale {
            [Some(client), Some(server)] => [Some(client), Some(server)],
            scales if (0..2).any(|side| scales[side].is_none() && !self.wscale_cut[side]) => [Some(0); 2],
            _ => [None; 2],
        }
    }

    /// Some SYN requested AccECN.
    pub fn asked_accecn(&self) -> bool {
        [self.syn, self.retry].into_iter().flatten().any(|s| is_request(s.ace))
    }

    pub fn state(&self) -> &'static str {
        match (self.syn.is_some(), self.synack.is_some(), self.established) {
            (true, true, true) => "full",
            (false, false, _) => "none",
            _ => "partial",
        }
    }

    /// Mode and the sentence that gives the reason; `unknown` where the handshake packets do not show it.
    pub fn decide(&self) -> (Mode, String) {
        match (self.requested(), self.decisive_synack()) {
            (Some(syn), Some(synack)) => self.decide_both(syn, synack.ace),
            (None, Some(synack)) => decide_synack(synack.ace),
            (Some(0), None) => (Mode::None, "The SYN did not request ECN (ACE 000).".into()),
            (Some(syn), None) => self.decide_syn(syn),
            (None, None) => (Mode::Unknown, "The capture holds no handshake packet.".into()),
        }
    }

    fn decide_both(&self, syn: u8, synack: u8) -> (Mode, String) {
        let (mode, what) = match (syn, synack) {
            (0, s) if self.asked_accecn() && reflected(s).is_some() && s != 0b011 => {
                (Mode::AccEcn, "answers the first SYN: AccECN")
            }
            (0, 0) => (Mode::None, "answers without ECN"),
            (0, _) => (Mode::None, "answers with ECN flags that the SYN did not request"),
            (0b011, 0b001 | 0b101) => (Mode::Classic, "accepts classic ECN"),
            (0b011, _) => (Mode::None, "does not accept classic ECN"),
            (_, 0b010 | 0b011 | 0b100 | 0b110) => (Mode::AccEcn, "accepts AccECN"),
            // Forward compatibility: RFC 9768 section 3.1.3.
            (_, 0b101) => (Mode::AccEcn, "accepts AccECN with a reserved code"),
            (_, 0b001) => (Mode::Classic, "answers with classic ECN"),
            (_, 0b111) => (Mode::None, "repeats the request, as a broken server does"),
            (_, _) => (Mode::None, "refuses ECN"),
        };
        (mode, format!("{} {what} (SYN/ACK ACE {synack:03b}).{}", self.asked(syn), self.aftermath(mode)))
    }

    /// The words before the verdict: what the SYNs asked for.
    fn asked(&self, last: u8) -> String {
        let first = self.syn.map_or(last, |s| s.ace);
        let request = match first {
            0 => "The SYN did not request ECN (ACE 000)".to_owned(),
            0b011 => "The SYN requested classic ECN (ACE 011)".to_owned(),
            0b111 => "The SYN requested AccECN (ACE 111)".to_owned(),
            other => format!("The SYN carries ACE {other:03b}, which a server takes as a request for AccECN"),
        };
        if first == last {
            format!("{request}; the server")
        } else {
            format!("{request}, its repetition fell back to ACE {last:03b}; the server")
        }
    }

    /// What the final ACK adds.
    fn aftermath(&self, mode: Mode) -> &'static str {
        match (mode, self.final_ack.map(|a| a.ace)) {
            (Mode::AccEcn, Some(0)) => " The final ACK carries ACE 000, so the server must not send ECT.",
            _ => "",
        }
    }

    fn decide_syn(&self, syn: u8) -> (Mode, String) {
        match self.final_ack {
            Some(ack) if is_request(syn) && reflected(ack.ace).is_some() => (
                Mode::AccEcn,
                format!(
                    "No SYN/ACK seen, but the client's final ACK carries the AccECN code {:03b}.",
                    ack.ace
                ),
            ),
            _ => (Mode::Unknown, format!("The SYN (ACE {syn:03b}) was seen, but no answer to it.")),
        }
    }
}

/// Any code but 000 and 011 is taken as an AccECN request (RFC 9768 section 3.1.1 and forward compatibility).
fn is_request(ace: u8) -> bool {
    ace != 0 && ace != 0b011
}

/// The SYN/ACK agrees to some kind of ECN.
fn accepts(ace: u8) -> bool {
    ace != 0 && ace != 0b111
}

/// A SYN/ACK without its SYN: 011 can be AccECN's ECT(1) or a broken reflection of a classic SYN.
fn decide_synack(ace: u8) -> (Mode, String) {
    let (mode, what) = match ace {
        0b010 | 0b100 | 0b110 => (Mode::AccEcn, "accepts AccECN"),
        0b001 => (Mode::Classic, "accepts classic ECN"),
        0 => (Mode::None, "agrees to no ECN"),
        _ => (Mode::Unknown, "can mean several things without its SYN"),
    };
    (mode, format!("No SYN seen; the SYN/ACK {what} (ACE {ace:03b})."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::testing::{packet, A, B};

    fn with_ace(from: u8, ace: u8, flags: u16) -> Packet {
        Packet { flags: flags | (u16::from(ace) << 6), ..packet(from) }
    }

    fn run(syns: &[u8], synacks: &[u8], last: Option<u8>) -> Handshake {
        let mut h = Handshake::default();
        syns.iter().for_each(|&a| h.syn_packet(&with_ace(A, a, flag::SYN), 0));
        synacks.iter().for_each(|&a| h.syn_packet(&with_ace(B, a, flag::SYN | flag::ACK), 1));
        if let Some(a) = last {
            h.answer(&with_ace(A, a, flag::ACK));
        }
        h
    }

    #[test]
    fn the_table_of_rfc_9768_for_an_accecn_syn() {
        let expected = [
            (0b000, Mode::None),
            (0b001, Mode::Classic),
            (0b010, Mode::AccEcn),
            (0b011, Mode::AccEcn),
            (0b100, Mode::AccEcn),
            (0b101, Mode::AccEcn),
            (0b110, Mode::AccEcn),
            (0b111, Mode::None),
        ];
        for (ace, mode) in expected {
            assert_eq!(run(&[7], &[ace], None).decide().0, mode, "SYN/ACK ACE {ace:03b}");
        }
    }

    #[test]
    fn a_window_scale_that_was_cut_off_is_unknown() {
        let shifts = |client: (Option<u8>, bool), server: (Option<u8>, bool)| {
            let mut h = Handshake::default();
            let with = |p: Packet, (wscale, options_cut)| Packet { wscale, options_cut, ..p };
            h.syn_packet(&with(with_ace(A, 7, flag::SYN), client), 0);
            h.syn_packet(&with(with_ace(B, 2, flag::SYN | flag::ACK), server), 1);
            h.shifts()
        };
        assert_eq!(shifts((Some(7), false), (Some(9), true)), [Some(7), Some(9)]);
        assert_eq!(shifts((Some(7), false), (None, false)), [Some(0), Some(0)]);
        assert_eq!(shifts((None, true), (None, false)), [Some(0), Some(0)]);
        assert_eq!(shifts((None, true), (None, true)), [None, None]);
        assert_eq!(shifts((Some(7), false), (None, true)), [None, None]);
    }

    #[test]
    fn the_reserved_code_is_named() {
        let (_, reason) = run(&[7], &[0b101], Some(2)).decide();
        let expected = "The SYN requested AccECN (ACE 111); the server accepts AccECN with a reserved code \
                        (SYN/ACK ACE 101).";
        assert_eq!(reason, expected);
    }

    #[test]
    fn a_classic_syn_gets_classic_or_nothing() {
        for ace in 0..8 {
            let expected = if ace == 1 || ace == 5 { Mode::Classic } else { Mode::None };
            assert_eq!(run(&[3], &[ace], None).decide().0, expected, "SYN/ACK ACE {ace:03b}");
        }
    }

    #[test]
    fn a_downgraded_syn_repetition_ends_without_ecn() {
        let h = run(&[7, 7, 0], &[0], Some(0));
        assert_eq!(h.decide().0, Mode::None);
        assert_eq!(h.retry.unwrap().ace, 0);
    }

    #[test]
    fn the_answer_to_the_first_syn_may_come_after_its_downgraded_repetition() {
        assert_eq!(run(&[7, 0], &[2], Some(2)).decide().0, Mode::AccEcn);
    }

    #[test]
    fn an_answer_without_ecn_is_no_refusal_where_none_was_asked_for() {
        let (mode, reason) = run(&[0], &[0], Some(0)).decide();
        assert_eq!(mode, Mode::None);
        assert!(reason
            .ends_with("did not request ECN (ACE 000); the server answers without ECN (SYN/ACK ACE 000)."));
        assert!(run(&[0], &[1], Some(0)).decide().1.contains("flags that the SYN did not request"));
    }

    #[test]
    fn of_two_synacks_the_clients_answer_tells_which_one_counted() {
        assert_eq!(run(&[7], &[2, 0], Some(0)).decide().0, Mode::None);
        assert_eq!(run(&[7], &[2, 0], Some(2)).decide().0, Mode::AccEcn);
    }

    #[test]
    fn codes_reflect_the_codepoint() {
        assert_eq!(
            (0..8).map(reflected).collect::<Vec<_>>(),
            [None, None, Some(0), Some(1), Some(2), None, Some(3), None]
        );
    }
}
