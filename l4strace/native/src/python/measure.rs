//! Rounds of a run for Python: made once, asked by every table.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::beside::datagrams;
use super::given::Given;
use super::phases::Phases;
use super::seam::native;
use super::tables::{ArrowTable, Columns};
use super::{coexistence, delays, directions, features, responses};
use crate::measure::alphas::Shown;
use crate::measure::beside::{Bytes, Datagrams, Sent};
use crate::measure::coexistence::pairs;
use crate::measure::during::SLICE_NS;
use crate::measure::features::Run;
use crate::measure::laws::{senders, Response};
use crate::measure::phases::{phases, HIDES, NOTED_US};
use crate::measure::policer::policed;
use crate::measure::queue_waits::EMPTY_US;
use crate::measure::rates::rates;
use crate::measure::rating::{L4S_MARK_US, PACKETS};
use crate::measure::responding::pressed;
use crate::measure::rounds::{numbered, placed, Direction, Key, Limit, Rounds};
use crate::measure::slots::{slots, Slot};
use crate::measure::spikes::{JOIN_NS, LOOK_BACK_NS};
use crate::measure::starvation::STARVED_SHARE;
use crate::measure::sums::sums;
use crate::measure::{cuts, usage};
use crate::measure::{DEEP_US, FAR_US, HELD_BACK, QUEUE_US};
use crate::measure::{FRAME_BYTES, MIN_ACKED_PACKETS, MIN_ROUNDS, MIN_STEADY, MIN_STEADY_PACKETS};
use crate::track::CLOCK_STEP_NS;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Measured>()?;
    m.add_class::<Phases>()?;
    m.add("L4S_MARK_US", L4S_MARK_US)?;
    m.add("STARVED_SHARE", STARVED_SHARE)?;
    m.add("SPIKE_JOIN_NS", JOIN_NS)?;
    m.add("SPIKE_LOOK_BACK_NS", LOOK_BACK_NS)?;
    m.add("MIN_STEADY", MIN_STEADY)?;
    m.add("MIN_STEADY_PACKETS", MIN_STEADY_PACKETS)?;
    m.add("MIN_ROUNDS", MIN_ROUNDS)?;
    m.add("MIN_ACKED_PACKETS", MIN_ACKED_PACKETS)?;
    m.add("FRAME_BYTES", FRAME_BYTES)?;
    m.add("NOTED_US", NOTED_US)?;
    m.add("QUEUE_US", QUEUE_US)?;
    m.add("DEEP_US", DEEP_US)?;
    m.add("FAR_US", FAR_US)?;
    m.add("HELD_BACK", HELD_BACK)?;
    m.add("CLOCK_STEP_NS", CLOCK_STEP_NS)?;
    m.add("HIDES", HIDES)?;
    m.add("FULL_SHARE", usage::FULL)?;
    m.add("SLICE_NS", SLICE_NS)?;
    m.add("EMPTY_US", EMPTY_US)?;
    m.add("L4S_MARK_PACKETS", PACKETS)
}

/// Rounds in the order of their direction and of `round`, and the directions of a run.
#[pyclass(module = "l4strace._native", frozen)]
struct Measured {
    rounds: Given,
    keys: Vec<Key>,
    directions: Vec<Direction>,
    datagrams: Vec<Datagrams>,
    limits: Vec<Limit>,
    slow_start: Vec<Option<bool>>,
    slots: OnceLock<Vec<Slot>>,
    senders: OnceLock<Vec<(Option<Response>, Shown)>>,
}

#[pymethods]
impl Measured {
    /// Rounds of a direction stand together, by `round`. `sent` has what flows over UDP sent over time, and
    /// `senders` their directions.
    #[new]
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the tables
    fn new(rounds: Given, directions: Given, sent: Given, senders: Given) -> PyResult<Measured> {
        let rows =
            rows(&rounds, &directions)?.ok_or_else(|| PyValueError::new_err("rounds are in no order"))?;
        let at = directions.whole::<UInt32Type>("at")?;
        let [near, scalable, prague] = ["near", "scalable", "prague"].map(|name| directions.flags(name));
        let (near, scalable, prague) = (near?, scalable?, prague?);
        let made = |(of, rows)| Direction {
            at: at.or_zero(of),
            near: near[of],
            scalable: scalable[of],
            prague: prague[of],
            rows,
        };
        let keys = keys(&directions)?.collect();
        let directions = rows.into_iter().enumerate().map(made).collect();
        let limits = rounds.texts("limited_by")?.map(Limit::named).collect();
        let slow_start = rounds.bool("slow_start")?;
        let datagrams = datagrams(&sent, &senders)?;
        let (slots, senders) = Default::default();
        Ok(Measured { rounds, keys, directions, datagrams, limits, slow_start, slots, senders })
    }

    /// The direction of each row of `rounds`, in any order, by number (`direction`).
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the tables
    fn numbered(rounds: Given, directions: Given) -> PyResult<ArrowTable> {
        let known: Vec<Key> = keys(&directions)?.collect();
        let mut t = Columns::of_rows(rounds.rows());
        t.u32("direction", numbered(&known, keys(&rounds)?));
        t.finish()
    }

    /// Slots of the paths that carried enough.
    fn slots(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        let found = self.of_paths(py)?;
        let mut t = Columns::default();
        t.u32("at", found.iter().map(|s| s.at));
        t.u32("flows", found.iter().map(|s| s.flows));
        t.i64("slot", found.iter().map(|s| s.slot));
        t.i64("start_ns", found.iter().map(|s| s.start_ns));
        t.i64("end_ns", found.iter().map(|s| s.end_ns));
        t.f64("delivered_bps", found.iter().map(|s| s.delivered_bps));
        t.f64("beside_bps", found.iter().map(|s| s.beside_bps));
        t.f64("train_bps", found.iter().map(|s| s.train_bps));
        t.f64("acked", found.iter().map(|s| s.acked));
        t.f64("queue_us", found.iter().map(|s| s.queue_us));
        t.f64("floor_us", found.iter().map(|s| s.floor_us));
        t.f64("held_back", found.iter().map(|s| s.held_back));
        t.f64("full_bps", found.iter().map(|s| s.full_bps));
        t.finish()
    }

    /// Phases of these paths; `noise` has what noise adds to the delays of each path (`at`).
    fn phases(&self, py: Python<'_>, noise: Given) -> PyResult<Phases> {
        let (at, us) = (noise.whole::<UInt32Type>("at")?, noise.whole::<Float64Type>("noise_us")?);
        let added = |row| Some((at.get(row)?, us.get(row)?));
        let noise_us: BTreeMap<u32, f64> = (0..at.len()).filter_map(added).collect();
        let slots = self.of_paths(py)?;
        native(py, || Ok::<_, PyErr>(Phases { phases: phases(slots, &noise_us) }))
    }

    /// What is known of the bottleneck of each direction (`of`); `known` has what other tables say about
    /// directions, and `only` the stretches (`at`, `phase`) whose rounds count; all where it is left out.
    #[pyo3(signature = (phases, known, only = None))]
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the tables
    fn features(
        &self,
        py: Python<'_>,
        phases: &Phases,
        known: Given,
        only: Option<Given>,
    ) -> PyResult<ArrowTable> {
        let (known, rounds) = (features::known(&known)?, self.rounds()?);
        let only = only.map(|only| features::stretches(&only)).transpose()?;
        let run =
            Run { rounds: &rounds, directions: &self.directions, known: &known, phases: &phases.phases };
        let found = native(py, || Ok::<_, PyErr>(run.features(only.as_ref())))?;
        features::table(&found)
    }

    /// The smallest RTT of each direction near the sender (`of`), and how its rounds lie above it.
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the table
    fn floors(&self, known: Given) -> PyResult<ArrowTable> {
        delays::floors(&self.rounds()?, &self.directions, &known)
    }

    /// The smallest one-way delays of each direction (`of`).
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the table
    fn one_way(&self, known: Given) -> PyResult<ArrowTable> {
        delays::one_way(&self.rounds()?, &self.directions, &known)
    }

    /// The largest delay of each round that counts, by its direction (`of`), and the base of that.
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the table
    fn delays(&self, known: Given) -> PyResult<ArrowTable> {
        delays::delays(&self.rounds()?, &self.directions, &known)
    }

    /// Events of each path whose delays were far above the usual ones.
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the table
    fn spikes(&self, py: Python<'_>, known: Given) -> PyResult<ArrowTable> {
        delays::spikes(py, &self.rounds()?, &self.directions, &known)
    }

    /// Whether the losses of each path (`at`) come as those of a policer.
    fn policed(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        let rounds = self.rounds()?;
        let found = native(py, || Ok::<_, PyErr>(policed(&rounds, &self.directions)))?;
        let mut t = Columns::default();
        t.u32("at", found.iter().map(|p| p.at));
        t.f64("group_lost", found.iter().map(|p| p.group_lost));
        t.f64("policed_bps", found.iter().map(|p| p.rate_bps));
        t.f64("policed_uneven", found.iter().map(|p| p.uneven));
        t.f64("policed_burst_bytes", found.iter().map(|p| p.burst_bytes));
        t.finish()
    }

    /// How the delays of directions near the sender spread after their start, by number (`of`).
    fn noise(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        delays::noise(py, &self.rounds()?, &self.directions)
    }

    /// Rate of each path (`at`) after the start of these.
    fn rates(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        let rounds = self.rounds()?;
        let found = native(py, || Ok::<_, PyErr>(rates(&rounds, &self.directions)))?;
        let mut t = Columns::default();
        t.u32("at", found.keys().copied());
        t.f64("rate_bps", found.values().copied());
        t.finish()
    }

    /// What the `asked` directions near the sender carried in all, by number (`of`).
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the table
    fn sums(&self, known: Given, asked: Vec<usize>) -> PyResult<ArrowTable> {
        let found = sums(&self.rounds()?, &self.directions, &features::known(&known)?, &asked);
        let mut t = Columns::default();
        t.u32("of", found.iter().map(|s| s.of as u32));
        t.u32("rounds", found.iter().map(|s| s.rounds));
        t.u64("acked", found.iter().map(|s| s.acked));
        t.i64("marks", found.iter().map(|s| s.marks));
        t.u64("losses", found.iter().map(|s| s.losses));
        t.f64("queue_delay_us", found.iter().map(|s| s.queue_delay_us));
        t.finish()
    }

    /// What all rounds of each direction show.
    fn overall(&self) -> PyResult<ArrowTable> {
        directions::overall(&self.rounds()?, &self.keys, &self.directions)
    }

    /// How long the packets of these directions waited.
    fn queue_waits(&self, asked: Vec<Key>) -> PyResult<ArrowTable> {
        delays::queue_waits(&self.rounds()?, &self.keys, &self.directions, asked)
    }

    /// What these directions did between two moments.
    fn during(&self, asked: Vec<Key>, begin_ns: i64, end_ns: i64) -> PyResult<ArrowTable> {
        directions::during(&self.rounds()?, &self.keys, &self.directions, asked, (begin_ns, end_ns))
    }

    /// How the windows of ECT(1) senders follow their marks, by direction.
    fn laws(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        let found: Vec<_> = self.of_senders(py)?.iter().filter_map(|(law, _)| law.as_ref()).collect();
        responses::laws(&self.keys, &found)
    }

    /// What these directions (`fed_back`) sent while most of their packets arrived as CE.
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the table
    fn pressed(&self, py: Python<'_>, known: Given) -> PyResult<ArrowTable> {
        let (rounds, fed_back) = (self.rounds()?, known.flags("fed_back")?);
        let found = native(py, || Ok::<_, PyErr>(pressed(&rounds, &self.directions, &fed_back)))?;
        responses::pressed(&self.keys, &found)
    }

    /// What shows the builds of ECT(1) senders, by direction.
    fn builds(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        let found: Vec<_> = self.of_senders(py)?.iter().map(|(_, build)| build).collect();
        responses::builds(&self.keys, &found)
    }

    /// Directions of one path that sent at the same time; `known` has what other tables say of each.
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the table
    fn coexistence(&self, py: Python<'_>, known: Given) -> PyResult<ArrowTable> {
        let (known, rounds) = (coexistence::known(&known)?, self.rounds()?);
        let of_paths = || pairs(&rounds, &self.directions, &known, &self.datagrams);
        let found = native(py, || Ok::<_, PyErr>(of_paths()))?;
        let keys: Vec<Key> =
            self.keys.iter().copied().chain(self.datagrams.iter().map(|one| one.key)).collect();
        coexistence::table(&keys, &found)
    }

    /// Rounds with marks or losses and the windows after them, by direction.
    fn cuts(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        let rounds = self.rounds()?;
        let found = native(py, || Ok::<_, PyErr>(cuts::cuts(&rounds, &self.directions)))?;
        responses::cuts(&self.keys, &rounds, &found)
    }

    /// First and last frame of the first round of a direction that contains a moment.
    fn frames_at(&self, direction: Key, ns: i64) -> PyResult<Option<(u64, u64)>> {
        let rounds = self.rounds()?;
        let of = self.keys.iter().position(|key| *key == direction);
        Ok(of.and_then(|of| rounds.frames_at(&self.directions[of], ns)))
    }

    /// The last round of its direction that began until each moment (`ts_ns`).
    #[allow(clippy::needless_pass_by_value)] // pyo3 makes the table
    fn begun(&self, moments: Given) -> PyResult<ArrowTable> {
        directions::begun(&self.rounds()?, &self.keys, &self.directions, &moments)
    }

    /// Steps of the detector, by flow, direction and time.
    fn detector(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        let rounds = self.rounds()?;
        native(py, || responses::detector(&self.keys, &rounds, &self.directions))
    }
}

impl Measured {
    fn of_paths(&self, py: Python<'_>) -> PyResult<&[Slot]> {
        if let Some(found) = self.slots.get() {
            return Ok(found);
        }
        let rounds = self.rounds()?;
        let found = native(py, || Ok::<_, PyErr>(slots(&rounds, &self.directions, &self.beside())))?;
        Ok(self.slots.get_or_init(|| found))
    }

    /// What went over UDP on each path.
    fn beside(&self) -> BTreeMap<u32, Bytes> {
        let mut paths: BTreeMap<u32, Vec<&Sent>> = BTreeMap::new();
        for one in &self.datagrams {
            paths.entry(one.at).or_default().extend(&one.sent);
        }
        paths.into_iter().map(|(at, sent)| (at, Bytes::of(sent.into_iter()))).collect()
    }

    fn of_senders(&self, py: Python<'_>) -> PyResult<&[(Option<Response>, Shown)]> {
        if let Some(found) = self.senders.get() {
            return Ok(found);
        }
        let rounds = self.rounds()?;
        let found = native(py, || Ok::<_, PyErr>(senders(&rounds, &self.directions)))?;
        Ok(self.senders.get_or_init(|| found))
    }

    fn rounds(&self) -> PyResult<Rounds<'_>> {
        let given = &self.rounds;
        Ok(Rounds {
            flow: given.known::<UInt32Type>("flow")?,
            round: given.known::<UInt32Type>("round")?,
            round_trips: given.known::<UInt32Type>("round_trips")?,
            start_ns: given.known::<Int64Type>("start_ns")?,
            end_ns: given.known::<Int64Type>("end_ns")?,
            acked_bytes: given.known::<UInt64Type>("acked_bytes")?,
            acked_packets: given.known::<UInt32Type>("acked_packets")?,
            retransmits: given.known::<UInt32Type>("retransmits")?,
            train_bps: given.known::<Float64Type>("train_bps")?,
            rtt_samples: given.known::<UInt32Type>("rtt_samples")?,
            rtt_min_us: given.known::<Float64Type>("rtt_min_us")?,
            rtt_mean_us: given.known::<Float64Type>("rtt_mean_us")?,
            rtt_max_us: given.known::<Float64Type>("rtt_max_us")?,
            marked_rtt_min_us: given.known::<Float64Type>("marked_rtt_min_us")?,
            sacked_rtt_max_us: given.known::<Float64Type>("sacked_rtt_max_us")?,
            owd_min_us: given.known::<Float64Type>("owd_min_us")?,
            owd_mean_us: given.known::<Float64Type>("owd_mean_us")?,
            owd_max_us: given.known::<Float64Type>("owd_max_us")?,
            marked_owd_min_us: given.known::<Float64Type>("marked_owd_min_us")?,
            rtt_jitter_us: given.known::<Float64Type>("rtt_jitter_us")?,
            sacked_rtt_min_us: given.known::<Float64Type>("sacked_rtt_min_us")?,
            inflight_max_packets: given.known::<UInt32Type>("inflight_max_packets")?,
            alphas: responses::clocks(given, "")?,
            alpha_updates: responses::updates(given)?,
            srtt_pace_us: given.known::<Float64Type>("srtt_pace_us")?,
            mdev_pace_us: given.known::<Float64Type>("mdev_pace_us")?,
            classic_ecn: given.known::<Float64Type>("classic_ecn")?,
            classic_ecn_lo: given.known::<Float64Type>("classic_ecn_lo")?,
            classic_ecn_hi: given.known::<Float64Type>("classic_ecn_hi")?,
            classic_ecn_buggy: given.known::<Float64Type>("classic_ecn_buggy")?,
            slow_start: &self.slow_start,
            inflight_max_bytes: given.known::<UInt64Type>("inflight_max_bytes")?,
            rwnd_bytes: given.known::<UInt64Type>("rwnd_bytes")?,
            ce_best: given.known::<UInt32Type>("ce_best")?,
            ece_acks: given.known::<UInt32Type>("ece_acks")?,
            ce: given.known::<UInt32Type>("ce")?,
            ce_bytes: given.known::<UInt64Type>("ce_bytes")?,
            first_frame: given.known::<UInt64Type>("first_frame")?,
            last_frame: given.known::<UInt64Type>("last_frame")?,
            sent_packets: given.known::<UInt32Type>("sent_packets")?,
            sent_bytes: given.known::<UInt64Type>("sent_bytes")?,
            burst_bytes: given.known::<UInt32Type>("burst_bytes")?,
            burst_frame: given.known::<UInt64Type>("burst_frame")?,
            rtt_prompt_max_us: given.known::<Float64Type>("rtt_prompt_max_us")?,
            queue_delay_us: given.known::<Float64Type>("queue_delay_us")?,
            limits: &self.limits,
        })
    }
}

/// The rows of each direction; None where rounds are in another order.
fn rows(rounds: &Given, directions: &Given) -> PyResult<Option<Vec<Range<usize>>>> {
    let known: Vec<Key> = keys(directions)?.collect();
    let round = rounds.whole::<UInt32Type>("round")?;
    Ok(placed(&known, keys(rounds)?.zip((0..round.len()).map(|row| round.or_zero(row)))))
}

/// Source, flow and forward of each row.
pub fn keys(table: &Given) -> PyResult<impl Iterator<Item = Key> + '_> {
    let (source, flow) = (table.whole::<UInt16Type>("source")?, table.whole::<UInt32Type>("flow")?);
    let forward = table.flags("forward")?.into_iter().enumerate();
    Ok(forward.map(move |(row, forward)| (source.or_zero(row), flow.or_zero(row), forward)))
}
