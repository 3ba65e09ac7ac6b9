//! How long the replayed score of a direction was above 8: see `l4strace/fallback/replayed.py`.

use super::column::Column;
use super::laws::SCALABLE;
use super::numbers::{mean, median};

/// Columns of the table `detector`; `bounds` are the lowest and the highest score that the packets allow.
pub struct Steps<'a> {
    pub ts_ns: Column<'a, i64>,
    pub score: Column<'a, f64>,
    pub bounds: [Column<'a, f64>; 2],
    pub mdev_us: Column<'a, f64>,
    pub depth_us: Column<'a, f64>,
}

/// What the steps of a direction show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Share of the time with a score that is above 8 for certain, and with one that may be.
    pub times: [Option<f64>; 2],
    /// How often it passed 8 for certain, and when it first was above.
    pub crossings: u32,
    pub since_ns: Option<i64>,
    /// Range of the likeliest score.
    pub least: Option<f64>,
    pub most: Option<f64>,
    /// Medians.
    pub mdev_us: Option<f64>,
    pub depth_us: Option<f64>,
}

/// Of the steps of one direction, `rows`, in their order.
pub fn scores(steps: &Steps<'_>, rows: &[usize]) -> Scores {
    let values = |of: Column<'_, f64>| rows.iter().filter_map(|row| of.get(*row)).collect::<Vec<f64>>();
    let [sure, may_be] = steps.bounds.map(|bound| -> Vec<Option<bool>> {
        let score = |row: &usize| bound.get(*row).or_else(|| steps.score.get(*row));
        rows.iter().map(|row| Some(score(row)? > SCALABLE)).collect()
    });
    let first = sure.iter().position(|above| *above == Some(true));
    let passed = |sides: &&[Option<bool>]| matches!(sides, [Some(a), Some(b)] if a != b);
    let score = values(steps.score);
    Scores {
        times: [share(steps, rows, &sure), share(steps, rows, &may_be)],
        crossings: sure.windows(2).filter(passed).count() as u32,
        since_ns: first.and_then(|first| steps.ts_ns.get(rows[first])),
        least: score.iter().copied().reduce(f64::min),
        most: score.iter().copied().reduce(f64::max),
        mdev_us: median(&mut values(steps.mdev_us)),
        depth_us: median(&mut values(steps.depth_us)),
    }
}

/// Share of the time between steps in which `above` is true; that of the steps where no time passes.
fn share(steps: &Steps<'_>, rows: &[usize], above: &[Option<bool>]) -> Option<f64> {
    let (mut held_ns, mut all_ns) = (0, 0);
    for (sides, above) in rows.windows(2).zip(above) {
        let lasted_ns = steps.ts_ns.or_zero(sides[1]) - steps.ts_ns.or_zero(sides[0]);
        all_ns += lasted_ns;
        held_ns += if *above == Some(true) { lasted_ns } else { 0 };
    }
    if all_ns == 0 {
        return mean(above.iter().filter_map(|above| Some(f64::from(u8::from((*above)?)))));
    }
    Some(held_ns as f64 / all_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::{scores, Column, Steps};

    #[test]
    fn a_score_counts_until_the_next_step() {
        let [low, high] = [[0.0, 9.0, 7.0, 17.0], [9.0, 9.0, 8.0, 17.0]];
        let [low, high] = [&low, &high].map(|values| Column::new(values, None));
        let ts_ns = Column::new(&[0, 10, 20, 40], None);
        let steps = Steps { ts_ns, score: low, bounds: [low, high], mdev_us: high, depth_us: low };
        let of = |rows| scores(&steps, rows);
        let found = of(&[0, 1, 2, 3]);
        assert_eq!((found.times, found.crossings), ([Some(0.25), Some(0.5)], 3));
        assert_eq!((found.since_ns, found.depth_us), (Some(10), Some(8.0)));
        assert_eq!(of(&[3]).times, [Some(1.0); 2], "no time passes");
    }
}
