use super::{Costs, Model, Sample};

const MODEL: Model =
    Model { growths: [0.0, 0.25, 0.5, 0.75, 1.0], rounded: 0.5, gaussian: 2.0, unlikely: 6.0 };

/// A window of 100 (and the half packet that counting adds), halved.
const HALVED: Sample =
    Sample { group: 0, before: 100.5, after: 50.5, cuts: 1.0, growth: 0.0, error: 10.0, isolated: true };

fn likelihood(samples: &[Sample], fraction: f64) -> f64 {
    let mut costs = Costs::new(MODEL, 1, 1);
    let samples: Vec<_> = samples.iter().copied().map(Some).collect();
    costs.add(0, &samples, &vec![Some(fraction); samples.len()]);
    let all: Vec<f64> = costs.log_likelihoods().flatten().collect();
    assert_eq!(all.len(), 1);
    all[0]
}

#[test]
fn errors_cost_quadratically_then_linearly_then_no_more() {
    assert_eq!(likelihood(&[HALVED], 0.5), 0.0);
    assert_eq!(likelihood(&[HALVED], 0.4), -0.5);
    assert_eq!(likelihood(&[HALVED], 0.25), -(2.0 * 2.5 - 2.0));
    assert_eq!(likelihood(&[HALVED], 0.0), -6.0);
}

#[test]
fn a_run_has_the_growth_that_suits_the_law() {
    let run = Sample { after: 51.25, isolated: false, ..HALVED };
    assert_eq!(likelihood(&[run], 0.5), 0.0);
    let other = Sample { after: 50.75, ..run };
    // One growth for all of its rounds: half a packet more, a twentieth of the error off each.
    let each: f64 = 0.025_f64.powi(2) / 2.0;
    assert!((likelihood(&[run, other], 0.5) + 2.0 * each).abs() < 1e-12);
}

#[test]
fn groups_and_laws_are_kept_apart() {
    let mut costs = Costs::new(MODEL, 2, 2);
    let samples = [Some(HALVED), Some(Sample { group: 1, ..HALVED }), None];
    costs.add(0, &samples, &[Some(0.5), Some(0.4), Some(0.0)]);
    costs.add(1, &samples, &[Some(0.4), None, Some(0.0)]);
    let laws: Vec<Vec<f64>> = costs.log_likelihoods().map(Iterator::collect).collect();
    assert_eq!(laws, [[0.0, -0.5], [-0.5, 0.0]]);
}
