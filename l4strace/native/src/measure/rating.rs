//! Border between the delays at which L4S and classic AQMs mark, at the rate of a path.

use std::collections::BTreeMap;

use super::packet_us;
use super::phases::Phase;
use super::waits::{Directed, Round};

/// Border of marking delays: DualPI2 marks at a step of 1 ms (RFC 9332 appendix A.1) or, configured for
/// slow and bursty links, 2 ms; CoDel from 5 ms (RFC 8289), RED and PIE about there or later. ACKs report a
/// mark up to a packet late, so the border is above the longest step.
pub const L4S_MARK_US: f64 = 3000.0;

/// On a slow link the border is this many times of a packet: DualPI2 marks no queue of one packet, so one
/// waits and one is sent when it marks (sch_dualpi2.c, must_drop and step by packets). Measured: at most
/// 1.9 behind DualPI2 at 4 and 5 Mbit/s; CoDel's 5 ms are 2.25 packets at 5.5 Mbit/s.
pub const PACKETS: f64 = 2.25;

/// Packets of a round from which its ACKs did not wait (RFC 5681 section 4.2: one in two).
pub const ANSWERED_AT_ONCE: u32 = 2;

/// Rate of a path, and what each phase carried if its capacity changed: the time of a packet is another in
/// each. Flows that never filled the path deliver less than it carries, so its capacity counts.
#[derive(Default)]
pub struct Rating {
    pub rate_bps: Option<f64>,
    pub carried_bps: BTreeMap<u32, f64>,
}

impl Rating {
    /// Rate in the phase of a round.
    pub fn bps(&self, round: &Round) -> Option<f64> {
        let carried = round.phase.and_then(|phase| self.carried_bps.get(&phase));
        carried.copied().or(self.rate_bps)
    }

    /// The border.
    pub fn limit_us(&self, round: &Round) -> f64 {
        L4S_MARK_US.max(PACKETS * packet_us(self.bps(round)))
    }

    /// What every packet of the round waited beyond the border and the noise.
    pub fn above_us(&self, direction: &Directed, round: &Round) -> Option<f64> {
        Some(round.least_us(direction.base_us)? - self.limit_us(round) - direction.noise_us)
    }
}

/// What each phase of a path carried, where it changed its capacity and the phase shows it.
pub fn carried(phases: &[Phase]) -> BTreeMap<u32, f64> {
    let changed = phases.iter().any(|phase| phase.capacity_bps != phases[0].capacity_bps);
    let shown = phases.iter().filter(|phase| changed && phase.capacity_shown);
    shown.map(|phase| (phase.phase, phase.capacity_bps)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Rating, Round, L4S_MARK_US, PACKETS};

    /// Lab run s1201-033: two packets of a slow phase take longer than L4S AQMs let wait.
    #[test]
    fn the_border_is_that_of_the_rate_of_the_phase() {
        let rating = Rating { rate_bps: Some(46e6), carried_bps: [(1, 4.6e6)].into() };
        let limit = |phase| rating.limit_us(&Round { phase, ..Round::default() });
        assert_eq!(limit(Some(0)), L4S_MARK_US);
        assert!((limit(Some(1)) - PACKETS * 1514.0 * 8.0 / 4.6).abs() < 1e-9);
        assert_eq!(limit(None), L4S_MARK_US);
        assert_eq!(Rating::default().limit_us(&Round::default()), L4S_MARK_US, "no rate is known");
    }
}
