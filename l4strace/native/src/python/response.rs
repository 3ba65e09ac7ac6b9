//! Costs of the laws of a window's response for Python: samples and fractions in, likelihoods out.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::given::Given;
use super::tables::{ArrowTable, Columns};
use crate::response::{Model, Sample, GROWTHS};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Costs>()
}

/// Costs of `groups` groups of samples under each of `laws`.
#[pyclass(module = "l4strace.core._native")]
struct Costs {
    laws: Vec<String>,
    groups: usize,
    costs: crate::response::Costs,
}

#[pymethods]
impl Costs {
    #[new]
    #[pyo3(signature = (groups, laws, *, growths, rounded, gaussian, unlikely))]
    fn new(
        groups: usize,
        laws: Vec<String>,
        growths: [f64; GROWTHS],
        rounded: f64,
        gaussian: f64,
        unlikely: f64,
    ) -> Self {
        let model = Model { growths, rounded, gaussian, unlikely };
        let costs = crate::response::Costs::new(model, groups, laws.len());
        Costs { laws, groups, costs }
    }

    /// Adds samples; `fractions` has a column per law, in their order.
    fn add(&mut self, samples: Given, fractions: Given) -> PyResult<()> {
        let samples = self.samples(&samples)?;
        let fractions = fractions.floats()?;
        if fractions.len() != self.laws.len() || fractions.iter().any(|law| law.len() != samples.len()) {
            return Err(PyValueError::new_err("one fraction per sample and law is needed"));
        }
        for (law, fractions) in fractions.iter().enumerate() {
            self.costs.add(law, &samples, fractions);
        }
        Ok(())
    }

    /// A row per group, a column per law.
    fn log_likelihoods(&self) -> PyResult<ArrowTable> {
        let mut table = Columns::default();
        for (law, values) in self.laws.iter().zip(self.costs.log_likelihoods()) {
            table.f64(law, values);
        }
        table.finish()
    }
}

impl Costs {
    /// The samples of known groups; one that lacks a value shows nothing.
    fn samples(&self, given: &Given) -> PyResult<Vec<Option<Sample>>> {
        let (group, isolated) = (given.u32("group")?, given.bool("isolated")?);
        let (before, after, error) = (given.f64("before")?, given.f64("after")?, given.f64("error")?);
        let (cuts, growth) = (given.f64("cuts")?, given.f64("growth")?);
        let sample = |i: usize| {
            Some(Sample {
                group: usize::try_from(group[i]?).ok().filter(|group| *group < self.groups)?,
                before: before[i]?,
                after: after[i]?,
                cuts: cuts[i]?,
                growth: growth[i]?,
                error: error[i]?,
                isolated: isolated[i]?,
            })
        };
        Ok((0..given.rows()).map(sample).collect())
    }
}
