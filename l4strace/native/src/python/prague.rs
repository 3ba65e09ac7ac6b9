//! Prague's replay for Python: one flow a call, its logged steps as a table.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::given::Given;
use super::tables::{ArrowTable, Columns};
use crate::prague::build::{floor_of, ALPHA_BITS, CWND_BITS, RTT_TRANSITION, SHIFT_G, TARGET_RTT_US};
use crate::prague::detector::{INIT_ADJ, INIT_CARRY};
use crate::prague::filter::MAX_SRTT_SHIFT;
use crate::prague::log::{replay, LoggedStep};
use crate::prague::{alpha, build, Build};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(prague_builds, m)?)?;
    m.add_function(wrap_pyfunction!(prague_identify, m)?)?;
    m.add_function(wrap_pyfunction!(prague_replay, m)?)?;
    m.add_function(wrap_pyfunction!(prague_alpha, m)?)
}

/// Constants of the published builds, one row each: names, units and sources stand in `_native.pyi`.
#[pyfunction]
fn prague_builds(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    Build::ALL.into_iter().map(|build| describe(py, &build)).collect()
}

fn describe<'py>(py: Python<'py>, build: &Build) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", build.name)?;
    row.set_item("bits", build.bits)?;
    row.set_item("l_sticky", build.l_sticky())?;
    row.set_item("classic_ecn", build.classic_ecn())?;
    row.set_item("c_sticky", build.c_sticky())?;
    row.set_item("modulus", build.modulus())?;
    row.set_item("residues", build.residues().to_vec())?;
    row.set_item("v0_lg", build.v0_lg)?;
    row.set_item("d0_lg", build.d0_lg)?;
    row.set_item("mdev_reference_us", build.mdev_reference_us())?;
    row.set_item("depth_reference_us", build.depth_reference_us())?;
    // The same in all builds: the score's zones, the floor and the scales.
    row.set_item("l_sticky_score", build.score(build.l_sticky()))?;
    row.set_item("classic_ecn_score", build.score(build.classic_ecn()))?;
    row.set_item("c_sticky_score", build.score(build.c_sticky()))?;
    let floor = build.score(floor_of(build.unit() as u64) as i64);
    row.set_item("alpha_floor", floor)?;
    row.set_item("cut_floor", floor / 2.0)?;
    row.set_item("published_bits", ALPHA_BITS.to_vec())?;
    row.set_item("frac_cwnd_unit", 1u64 << CWND_BITS)?;
    row.set_item("shift_g", SHIFT_G)?;
    row.set_item("rtt_transition", RTT_TRANSITION)?;
    row.set_item("target_rtt_us", TARGET_RTT_US)?;
    row.set_item("max_srtt_bits", MAX_SRTT_SHIFT)?;
    row.set_item("init_mdev_carry", INIT_CARRY)?;
    row.set_item("init_adj_us", INIT_ADJ)?;
    Ok(row)
}

/// The build whose constants each step of classic_ecn carries, and the residue that shows it.
#[pyfunction]
fn prague_identify(bits: u32, steps: Given) -> PyResult<ArrowTable> {
    let (before, after) = (steps.i64("before")?, steps.i64("after")?);
    let found = |at: usize| build::identify(bits, before[at]?, after[at]?);
    let found: Vec<_> = (0..before.len()).map(found).collect();
    let mut table = Columns::default();
    table.str("build", found.iter().map(|step| step.map(|(build, _)| build.name)));
    table.u64("residue", found.iter().map(|step| step.map(|(_, residue)| residue as u64)));
    table.finish()
}

/// Logged detector steps of one flow, in order: see `prague::log`.
#[pyfunction]
fn prague_replay(steps: Given) -> PyResult<ArrowTable> {
    let (before, shift, min_rtt_us) = (steps.i64("before")?, steps.u8("shift")?, steps.u32("min_rtt_us")?);
    let (srtt_us, mdev_us) = (steps.i64("srtt_us")?, steps.i64("mdev_us")?);
    let (rest_mdev, rest_depth) = (steps.u32("rest_mdev")?, steps.u32("rest_depth")?);
    let logged: Vec<LoggedStep> = (0..steps.rows())
        .map(|i| LoggedStep {
            classic_ecn: before[i],
            srtt_us: whole(srtt_us[i]),
            mdev_us: whole(mdev_us[i]),
            srtt_shift: shift[i],
            min_rtt_us: min_rtt_us[i],
            rest_mdev: rest_mdev[i],
            rest_depth: rest_depth[i],
        })
        .collect();
    let rows = replay(&logged);
    let mut table = Columns::default();
    table.f64("fixed", rows.iter().map(|row| row.fixed));
    table.f64("buggy", rows.iter().map(|row| row.buggy));
    table.bool("exact", rows.iter().map(|row| row.exact));
    for (i, build) in Build::ALL.iter().enumerate() {
        table.i64(build.name, rows.iter().map(|row| row.after[i]));
    }
    table.finish()
}

/// A time as the kernel has it: without a sign.
fn whole(us: Option<i64>) -> u64 {
    us.and_then(|us| u64::try_from(us).ok()).unwrap_or(0)
}

/// upscaled_alpha after one update each, from logged states.
#[pyfunction]
fn prague_alpha(bits: u32, upscaled: Vec<u64>, delivered: Vec<u32>, ce: Vec<u32>) -> PyResult<Vec<u64>> {
    check_bits(bits)?;
    if upscaled.len() != delivered.len() || delivered.len() != ce.len() {
        return Err(PyValueError::new_err("prague_alpha: columns differ in length"));
    }
    let rows = upscaled.into_iter().zip(delivered.into_iter().zip(ce));
    Ok(rows.map(|(upscaled, (delivered, ce))| alpha::update(bits, upscaled, delivered, ce)).collect())
}

fn check_bits(bits: u32) -> PyResult<()> {
    if bits <= 31 {
        return Ok(());
    }
    Err(PyValueError::new_err("alpha has at most 31 bits"))
}
