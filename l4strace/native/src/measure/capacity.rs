//! What the rates of a path's slots say about its capacity.
//!
//! All flows of a path together never deliver more than it carries, and deliver exactly that while a
//! queue stands. The fastest arrivals of single flows (`rounds.train_bps`: eight consecutive deliveries)
//! show the capacity of a path that is not full, but jitter, aggregation and ACK compression push single
//! trains above it. All rates are payload bits per second, as in `rounds.goodput_bps`: Ethernet frames of
//! 1514 bytes need 1.046 times as much.
//!
//! Against 43 emulated runs of 2 to 118 Mbit/s, seen at the sender: 49 phases whose capacity is shown are
//! off by 0.8 % in the median and by more than 10 % in four (flows that never filled the path before it
//! changed, a fall to 0.64 that was not found, and 2 ms of jitter: +12 %).

/// Quantile of the delivered rates: slots with an empty queue lie below the capacity, and slots into
/// which a long round smears its ACKs above it. By eye.
const HIGH: f64 = 0.8;

/// Trains count where they are this much faster than what was delivered: schedulers release packets in
/// bursts, which made trains of eight up to 16 % too fast in the emulated links.
const FASTER: f64 = 1.25;

/// What makes a level of trains: by eye; jitter of a tenth of their length spreads them by 10 %.
const MIN_TRAINS: f64 = 5.0;
const TRAIN_PART: f64 = 0.1;
const AGREE: f64 = 0.04;

/// Part of the slots with a standing queue, and their number, that deliver the same (within `AGREE`): the
/// path is full there, and trains that are faster were compressed behind it. By eye.
const PLATEAU: f64 = 0.7;
const MIN_PLATEAU: f64 = 10.0;

/// Capacity (bit/s) behind slots in which the path was full or its flows probed it.
///
/// What was delivered at the upper end, or a level above it that trains agree on: a tenth of them, and
/// five, within 4 %. Of several such levels the one with most trains counts, since jitter spreads trains
/// and capacity gathers them.
pub fn estimate(delivered_bps: Vec<f64>, mut trains_bps: Vec<f64>) -> f64 {
    let full = quantile(delivered_bps, HIGH);
    // A round that spans many slots shows its train in each of them.
    trains_bps.sort_unstable_by(f64::total_cmp);
    trains_bps.dedup();
    let above: Vec<f64> = trains_bps.iter().copied().filter(|train| *train >= FASTER * full).collect();
    let needed = MIN_TRAINS.max(TRAIN_PART * trains_bps.len() as f64);
    let (mut best, mut most, mut end) = (full, needed - 1.0, 0);
    for (begin, low) in above.iter().enumerate() {
        while end < above.len() && above[end] <= low * (1.0 + AGREE) {
            end += 1;
        }
        if (end - begin) as f64 > most {
            (best, most) = (above[(begin + end - 1) / 2], (end - begin) as f64);
        }
    }
    best
}

/// What slots with a standing queue deliver, if nearly all deliver the same.
pub fn plateau(delivered_bps: &[f64]) -> Option<f64> {
    let full = quantile(delivered_bps.to_vec(), 0.5);
    let level = delivered_bps.iter().filter(|rate| (*rate - full).abs() <= AGREE * full).count() as f64;
    (level >= MIN_PLATEAU.max(PLATEAU * delivered_bps.len() as f64)).then_some(full)
}

/// The value that `share` of `values` do not exceed; 0 without values.
pub fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let at = ((share * values.len() as f64) as usize).min(last);
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::{estimate, plateau, quantile};

    fn steps(count: usize, from: f64, step: f64) -> Vec<f64> {
        (0..count).map(|n| from + step * n as f64).collect()
    }

    #[test]
    fn trains_that_agree_show_more_than_was_delivered() {
        let mut trains = steps(40, 7e6, 1e5);
        trains.extend(steps(10, 50e6, 0.05e6));
        let found = estimate(vec![6e6; 50], trains.clone());
        assert!(found > 49e6);
        let twice = trains.iter().map(|train| train * 2.0).collect();
        assert_eq!(estimate(vec![12e6; 50], twice), 2.0 * found, "twice the rates, twice the capacity");
    }

    #[test]
    fn single_trains_and_scattered_ones_do_not() {
        let mut compressed = vec![6e6; 50];
        compressed.extend((0..12).map(|n| 10e6 * 1.2f64.powi(n)));
        assert_eq!(estimate(vec![6e6; 50], compressed), 6e6);
        let mut one = vec![6e6; 50];
        one.extend([50e6; 30]);
        assert_eq!(estimate(vec![6e6; 50], one), 6e6, "one round, many slots");
    }

    #[test]
    fn a_standing_queue_shows_the_rate_of_the_path_whatever_the_trains() {
        let mut level = vec![49e6, 49.4e6, 48.8e6, 45e6];
        level.extend([49.1e6; 9]);
        assert_eq!(plateau(&level), Some(49.1e6));
        assert_eq!(plateau(&[49e6; 9]), None);
        assert_eq!(plateau(&steps(20, 30e6, 1e6)), None);
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 1.0), 3.0);
        assert_eq!(quantile(vec![], 0.5), 0.0);
    }
}
