//! What the windows of senders after marks cost each law of their response, in nats.
//!
//! `l4strace/derive/windows.py` has the model: which rounds are samples, what each law predicts, and
//! where the constants come from.

#[cfg(test)]
mod tests;

/// Growths of a run of marked rounds that are tried; each law may have the one that suits it.
pub const GROWTHS: usize = 5;

/// How errors are weighed.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    pub growths: [f64; GROWTHS],
    /// Packets that a count has more than the fractional window.
    pub rounded: f64,
    /// Standard deviations beyond which an error counts linearly.
    pub gaussian: f64,
    /// Most that one sample costs.
    pub unlikely: f64,
}

/// One marked round, in packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub group: usize,
    pub before: f64,
    pub after: f64,
    /// Reductions that it may hold.
    pub cuts: f64,
    /// Of an isolated mark; a run of them has one of `Model::growths`.
    pub growth: f64,
    pub error: f64,
    pub isolated: bool,
}

impl Model {
    /// Cost of one sample under a law that gives up `fraction` of the window.
    fn cost(&self, sample: &Sample, fraction: f64, growth: f64) -> f64 {
        let kept = 1.0 - fraction * sample.cuts;
        let predicted = (sample.before - self.rounded) * kept + self.rounded;
        let off = ((sample.after - (predicted + growth)) / sample.error).abs();
        if off < self.gaussian {
            off * off / 2.0
        } else {
            (self.gaussian * off - self.gaussian * self.gaussian / 2.0).min(self.unlikely)
        }
    }
}

/// A sum that keeps what rounding loses (Kahan): thousands of samples do not blur a narrow lead.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    value: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        let more = value - self.lost;
        let sum = self.value + more;
        self.lost = (sum - self.value) - more;
        self.value = sum;
    }
}

/// Costs of one group of samples under one law.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    alone: Sum,
    running: [Sum; GROWTHS],
}

impl Cost {
    /// With the growth that suits the law best.
    fn least(&self) -> f64 {
        self.alone.value + self.running.iter().map(|sum| sum.value).fold(f64::INFINITY, f64::min)
    }
}

/// Costs of all groups under all laws.
pub struct Costs {
    model: Model,
    groups: usize,
    /// One law after the other, its groups in order.
    costs: Vec<Cost>,
}

impl Costs {
    pub fn new(model: Model, groups: usize, laws: usize) -> Self {
        Costs { model, groups, costs: vec![Cost::default(); groups * laws] }
    }

    /// Adds samples under the law of that number; one without a fraction shows nothing of it.
    pub fn add(&mut self, law: usize, samples: &[Option<Sample>], fractions: &[Option<f64>]) {
        let costs = &mut self.costs[law * self.groups..][..self.groups];
        for (sample, fraction) in samples.iter().zip(fractions) {
            let (Some(sample), Some(fraction)) = (sample, fraction) else { continue };
            let cost = &mut costs[sample.group];
            if sample.isolated {
                cost.alone.add(self.model.cost(sample, *fraction, sample.growth));
            } else {
                for (running, growth) in cost.running.iter_mut().zip(self.model.growths) {
                    running.add(self.model.cost(sample, *fraction, growth));
                }
            }
        }
    }

    /// Log-likelihood of each group under each law, without the constant that all laws share.
    pub fn log_likelihoods(&self) -> impl Iterator<Item = impl Iterator<Item = f64> + '_> {
        self.costs.chunks(self.groups.max(1)).map(|law| law.iter().map(|cost| -cost.least()))
    }
}
