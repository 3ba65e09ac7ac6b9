//! What the log of a sender shows beside the rounds of its direction.

use super::column::Column;
use super::numbers::median;
use super::rounds::Limit;

/// Age (ns) up to which a sample stands for a round: of the window by eye, some round trips; of alpha, as
/// polls come a few times per second.
const FRESH_NS: i64 = 100_000_000;
const POLLED_NS: i64 = 1_000_000_000;

/// Values at moments, in the order of time.
pub type Samples = Vec<(i64, f64)>;

/// Of the sender of one direction.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub delivered_ce: Samples,
    pub windows: Samples,
    pub alphas: Samples,
}

/// Columns of rounds that stand beside it, with the bounds of marks and of alpha.
#[derive(Default)]
pub struct Compared<'a> {
    pub start_ns: Column<'a, i64>,
    pub end_ns: Column<'a, i64>,
    pub marks: [Column<'a, u32>; 2],
    pub in_flight: Column<'a, u32>,
    pub limits: Vec<Limit>,
    pub alpha: Column<'a, f64>,
    pub alphas: [Column<'a, f64>; 2],
}

/// What a log and the rounds of its direction have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logged {
    /// Samples of the counter, its growth over the rounds between the first and the last, the marks that these
    /// allow, and the most of one of them.
    pub samples: u32,
    pub delivered_ce: Option<i64>,
    pub marks: [i64; 2],
    pub most: Option<u32>,
    /// Rounds that the window limits, with a window of the log: by which part more is in flight, and medians
    /// of both.
    pub limited: u32,
    pub error: Option<f64>,
    pub in_flight: Option<f64>,
    pub window: Option<f64>,
    /// Rounds with an alpha of the log, and the median of that over the replayed one.
    pub replayed: u32,
    pub ratio: Option<f64>,
}

/// Of the rounds `rows` of one direction.
pub fn logged(log: &Log, shown: &Compared<'_>, rows: &[usize]) -> Logged {
    let mut found = Logged::default();
    count(&proven(&log.delivered_ce), shown, rows, &mut found);

    let limited = rows.iter().filter(|row| shown.limits[**row] == Limit::Cwnd);
    let pairs: Vec<_> = beside(&log.windows, shown, limited, FRESH_NS).collect();
    let in_flight = |row| shown.in_flight.get(row).map(f64::from);
    let error = |(row, window): &(usize, f64)| Some((in_flight(*row)? - window) / window);
    found.limited = pairs.len() as u32;
    found.error = median(&mut pairs.iter().filter_map(error).collect::<Vec<_>>());
    found.in_flight = median(&mut pairs.iter().filter_map(|(row, _)| in_flight(*row)).collect::<Vec<_>>());
    found.window = median(&mut pairs.iter().map(|(_, window)| *window).collect::<Vec<_>>());

    let replayed = rows.iter().filter(|row| shown.alpha.get(**row).is_some_and(|alpha| alpha > 0.0));
    // The nearest that the replay allows.
    let [low, high] = shown.alphas;
    let nearest =
        |row, alpha: f64| alpha.max(low.get(row).unwrap_or(alpha)).min(high.get(row).unwrap_or(alpha));
    let ratios =
        beside(&log.alphas, shown, replayed, POLLED_NS).map(|(row, alpha)| alpha / nearest(row, alpha));
    let mut ratios: Vec<f64> = ratios.collect();
    found.replayed = ratios.len() as u32;
    found.ratio = median(&mut ratios);
    found
}

/// Samples of a counter, which never falls, without those that later ones prove wrong: another socket's.
fn proven(counter: &Samples) -> Samples {
    let mut least = f64::INFINITY;
    let later = counter.iter().rev().filter(|(_, count)| {
        let holds = *count <= least;
        least = least.min(*count);
        holds
    });
    let mut found: Samples = later.copied().collect();
    found.reverse();
    found
}

fn count(counter: &Samples, shown: &Compared<'_>, rows: &[usize], found: &mut Logged) {
    found.samples = counter.len() as u32;
    let (Some((from_ns, _)), Some((to_ns, _))) = (counter.first(), counter.last()) else { return };
    let between = |row: &usize| {
        shown.start_ns.get(*row).is_some_and(|ns| ns >= *from_ns)
            && shown.end_ns.get(*row).is_some_and(|ns| ns <= *to_ns)
    };
    let rows: Vec<usize> = rows.iter().copied().filter(between).collect();
    let at = |ns: Option<i64>| last(counter, ns?).map(|(_, count)| count);
    let begin = at(rows.iter().filter_map(|row| shown.start_ns.get(*row)).min());
    let end = at(rows.iter().filter_map(|row| shown.end_ns.get(*row)).max());
    found.delivered_ce = end.zip(begin).map(|(end, begin)| (end - begin) as i64);
    found.marks = shown.marks.map(|bound| rows.iter().map(|row| i64::from(bound.or_zero(*row))).sum());
    found.most = rows.iter().filter_map(|row| shown.marks[1].get(*row)).max();
}

/// Rounds, each with the last sample until its end that is no older than `age_ns`.
fn beside<'a>(
    samples: &'a Samples,
    shown: &'a Compared<'_>,
    rows: impl Iterator<Item = &'a usize> + 'a,
    age_ns: i64,
) -> impl Iterator<Item = (usize, f64)> + 'a {
    rows.filter_map(move |row| {
        let end_ns = shown.end_ns.get(*row)?;
        let (ns, value) = last(samples, end_ns)?;
        (end_ns.saturating_sub(ns) <= age_ns).then_some((*row, value))
    })
}

/// The last sample until a moment.
fn last(samples: &Samples, ns: i64) -> Option<(i64, f64)> {
    samples[..samples.partition_point(|(at, _)| *at <= ns)].last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const STARTS: [i64; 3] = [0, 100 * MS, 200 * MS];
    const ENDS: [i64; 3] = [100 * MS, 200 * MS, 300 * MS];

    fn of(log: &Log, shown: Compared<'_>) -> Logged {
        let (start_ns, end_ns) = (Column::new(&STARTS, None), Column::new(&ENDS, None));
        let limits = vec![Limit::Cwnd, Limit::Cwnd, Limit::App];
        logged(log, &Compared { start_ns, end_ns, limits, ..shown }, &[0, 1, 2])
    }

    #[test]
    fn the_counter_grows_by_the_marks_of_the_rounds_between_its_samples() {
        let delivered_ce =
            vec![(50 * MS, 7.0), (60 * MS, 900.0), (150 * MS, 9.0), (200 * MS, 9.0), (300 * MS, 20.0)];
        let (low, high) = (Column::new(&[1, 2, 4], None), Column::new(&[1, 10, 5], None));
        let found = of(
            &Log { delivered_ce, ..Log::default() },
            Compared { marks: [low, high], ..Compared::default() },
        );
        assert_eq!((found.samples, found.delivered_ce), (4, Some(13)), "900 is another socket's");
        assert_eq!((found.marks, found.most), ([6, 15], Some(10)));
    }

    #[test]
    fn windows_and_alphas_stand_beside_the_ends_of_rounds() {
        let windows = vec![(0, 10.0), (90 * MS, 20.0)];
        let in_flight = Column::new(&[30, 10, 99], None);
        let found = of(&Log { windows, ..Log::default() }, Compared { in_flight, ..Compared::default() });
        assert_eq!(
            (found.limited, found.error),
            (1, Some(0.5)),
            "that of the second round is older than 0.1 s"
        );
        assert_eq!((found.in_flight, found.window), (Some(30.0), Some(20.0)));

        let alphas = vec![(90 * MS, 0.32), (190 * MS, 0.16)];
        let [alpha, low, high] = [[0.02, 0.0, 0.02], [0.01, 0.0, 0.01], [0.04, 1.0, 0.16]];
        let [alpha, low, high] = [&alpha, &low, &high].map(|values| Column::new(values, None));
        let found = of(
            &Log { alphas, ..Log::default() },
            Compared { alpha, alphas: [low, high], ..Compared::default() },
        );
        assert_eq!((found.replayed, found.ratio), (2, Some(4.5)), "of 8 and 1");
    }
}
