//! The smallest delays of a direction: see `derive/queue_delay.py`, `derive/one_way.py`.

use super::column::Column;
use super::numbers::{median, quantile};
use super::rounds::{Direction, Rounds};

/// Quantile in place of the smallest, which one odd round decides. By eye.
const LOW: f64 = 0.1;

/// Rise of the floor (us) above its smallest RTT in a tenth of the rounds, up to which it was seen empty: a
/// tenth of DualPI2's step. Measured: at most 30 us behind DualPI2, 400 us and more behind CoDel.
pub const FLAT_US: f64 = 100.0;

/// Rounds from which an RTT is the usual one. Measured on the lab: in 30 rounds of one flow behind a common
/// queue it was 1.7 times that of others, in more 1.1 times at most.
const MANY: usize = 50;

/// The smallest RTT of a direction, and how its rounds lie above it.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    pub of: u32,
    pub floor_us: Option<f64>,
    pub floor_rise_us: Option<f64>,
    pub usual_us: Option<f64>,
    pub lasted: Option<i64>,
}

/// Of each direction near the sender; in those in `doubt` a round beside one has to confirm
/// it.
pub fn floors(rounds: &Rounds<'_>, directions: &[Direction], doubt: &[bool]) -> Vec<Floor> {
    let mut values = Vec::new();
    let mut floor = |(of, direction): (usize, &Direction)| {
        let rows = || direction.rows.clone();
        let own = |row: usize| rows().contains(&row).then(|| rounds.rtt_min_us.get(row)).flatten();
        let seen = |row: usize| {
            if doubt[of] {
                confirmed(row.checked_sub(1).and_then(own), own(row), own(row + 1))
            } else {
                own(row)
            }
        };
        values.clear();
        values.extend(rows().filter_map(seen));
        let floor_us = values.iter().copied().reduce(f64::min);
        let begun = rows().filter_map(|row| rounds.start_ns.get(row)).min();
        let ended = rows().filter_map(|row| rounds.end_ns.get(row)).max();
        Floor {
            of: of as u32,
            floor_us,
            floor_rise_us: quantile(&mut values, LOW).zip(floor_us).map(|(low, floor)| low - floor),
            usual_us: if rows().len() >= MANY { median(&mut values) } else { None },
            lasted: ended.zip(begun).map(|(ended, begun)| ended - begun),
        }
    };
    let near = directions.iter().enumerate().filter(|(_, direction)| direction.near);
    near.filter(|(_, direction)| !direction.rows.is_empty()).map(&mut floor).collect()
}

/// Smallest RTT of a round where packets may overtake: one that a round beside it confirms.
///
/// The median of three rounds in a row: a packet that overtook has no neighbor. The first and the last
/// round have one beside them only, which then counts twice: none confirms itself. SACK shows such packets,
/// so where the snaplen cuts it off any may have.
fn confirmed(before: Option<f64>, own: Option<f64>, after: Option<f64>) -> Option<f64> {
    let own = own?;
    let (a, b) = (before.or(after).unwrap_or(own), after.or(before).unwrap_or(own));
    Some(own.max(a.min(b)).min(a.max(b)))
}

/// The smallest one-way delay of a direction, the one that a tenth of its rounds stay below, and the same
/// of its marked packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OneWay {
    pub of: u32,
    pub floor_us: Option<f64>,
    pub low_us: Option<f64>,
    pub marked_us: Option<f64>,
}

/// What is known of a direction: its base RTT, its late packets, and whether some of its path overtake.
pub struct Late {
    pub base_us: Option<f64>,
    pub packets: f64,
    pub overtakes: bool,
}

/// Of each direction with rounds. Where packets overtake, rounds whose smallest RTT is near the base
/// decide, as ACKs of such packets give no RTT. One of them is the smallest delay of its round:
/// where a tenth of the marked rounds may have one, rounds do not show where marks set in.
pub fn one_way(rounds: &Rounds<'_>, directions: &[Direction], late: &[Late]) -> Vec<OneWay> {
    let found = |(of, (direction, late)): (usize, (&Direction, &Late))| {
        let of_all = |column: Column<'_, f64>| -> Vec<f64> {
            direction.rows.clone().filter_map(|row| column.get(row)).collect()
        };
        let empty = |row: &usize| {
            let above = rounds.rtt_min_us.get(*row).zip(late.base_us).map(|(us, base)| us - base);
            above.is_some_and(|us| us <= FLAT_US)
        };
        let (mut delays, mut marked) = (of_all(rounds.owd_min_us), of_all(rounds.marked_owd_min_us));
        let floor_us = if late.overtakes {
            let shown = direction.rows.clone().filter(empty);
            median(&mut shown.filter_map(|row| rounds.owd_min_us.get(row)).collect::<Vec<_>>())
        } else {
            delays.iter().copied().reduce(f64::min)
        };
        let few = late.packets < LOW * marked.len() as f64;
        OneWay {
            of: of as u32,
            floor_us,
            low_us: quantile(&mut delays, LOW),
            marked_us: if few { quantile(&mut marked, LOW) } else { None },
        }
    };
    let seen =
        directions.iter().zip(late).enumerate().filter(|(_, (direction, _))| !direction.rows.is_empty());
    seen.map(found).collect()
}
