//! What all flows of a path got through a second: see `derive/company.py`.

use std::collections::{BTreeMap, HashMap};

use super::column::Column;
use super::numbers::quantile;

const SECOND_NS: i64 = 1_000_000_000;

/// Bits a second of each path, at the quantile `high` of its seconds with rounds, by path.
pub fn rates(
    at: Column<'_, u32>,
    start_ns: Column<'_, i64>,
    acked_bytes: Column<'_, u64>,
    high: f64,
) -> BTreeMap<u32, f64> {
    let mut sums: HashMap<(u32, i64), u64> = HashMap::new();
    let mut add = |second: Option<(u32, i64)>, bytes| {
        if let Some(second) = second {
            *sums.entry(second).or_default() += bytes;
        }
    };
    // Rounds of one direction lie together: most are of the same second as the one before.
    let (mut last, mut bytes) = (None, 0);
    for row in 0..at.len() {
        let second = at.get(row).zip(start_ns.get(row)).map(|(at, ns)| (at, ns.div_euclid(SECOND_NS)));
        if second != last {
            add(last, bytes);
            (last, bytes) = (second, 0);
        }
        bytes += acked_bytes.or_zero(row);
    }
    add(last, bytes);
    let mut of_path: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((at, _), bytes) in sums {
        of_path.entry(at).or_default().push((bytes * 8) as f64);
    }
    of_path.into_iter().filter_map(|(at, mut bits)| Some((at, quantile(&mut bits, high)?))).collect()
}
