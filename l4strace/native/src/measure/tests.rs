//! Small cases; `tests/derive` compares whole tables.

use super::delays::{delays, Delay, Rounds};
use super::numbers::{correlation, median, quantile, rank_correlation};
use super::{Bits, Column};

#[test]
fn a_value_whose_bit_is_not_set_is_not_present() {
    let column = Column::new(&[7, 8, 9], Some(Bits { bytes: &[0b1010_0000, 0b1], offset: 6 }));
    assert_eq!([0, 1, 2].map(|at| column.get(at)), [None, Some(8), Some(9)]);
    assert_eq!(column.or_zero(0), 0);
}

#[test]
fn runs_are_rows_of_one_direction() {
    let of = [1, 1, 0, 3, 3, 3];
    let found = super::column::runs(Column::new(&of, Some(Bits { bytes: &[0b11_1011], offset: 0 })));
    assert_eq!(found, [(1, 0..2), (3, 3..6)]);
}

#[test]
fn quantiles_are_the_nearest_value() {
    for (share, value) in [(0.1, 1.0), (0.5, 3.0), (0.9, 5.0)] {
        assert_eq!(quantile(&mut [5.0, 1.0, 4.0, 2.0, 3.0], share), Some(value));
    }
    assert_eq!(quantile(&mut [], 0.5), None);
}

#[test]
fn the_median_of_an_even_number_lies_between_the_middle_two() {
    assert_eq!(median(&mut [4.0, 1.0, 2.0, 8.0]), Some(3.0));
    assert_eq!(median(&mut [4.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&mut []), None);
}

#[test]
fn what_does_not_vary_has_no_correlation() {
    assert!(near(correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]), 1.0));
    assert_eq!(correlation(&[1.0, 2.0], &[5.0, 5.0]), None);
    assert_eq!(correlation(&[1.0], &[5.0]), None);
}

#[test]
fn ranks_do_not_see_how_far_values_are_apart() {
    assert!(near(rank_correlation(&[1.0, 2.0, 100.0], &[3.0, 4.0, 5.0]), 1.0));
    assert!(near(rank_correlation(&[1.0, 1.0, 2.0, 2.0], &[1.0, 2.0, 1.0, 2.0]), 0.0));
}

#[test]
fn a_late_sample_counts_where_the_receiver_answered_or_the_round_beside_it_is_as_high() {
    let low = [10.0; 4];
    let (mean, most) = ([11.2, 11.2, 21.0, 20.5], [20.0, 20.0, 22.0, 21.0]);
    let largest = |beside: &[f64; 4], prompt: bool| {
        let bits = Some(Bits { bytes: if prompt { &[0b1111] } else { &[0] }, offset: 0 });
        delays(&rounds(&low, beside, &most, bits)).iter().map(|delay| delay.us).collect::<Vec<_>>()
    };
    // Ten samples: the second round has a high one beside it, the first has none.
    let without = (10.0 * mean[0] - most[0]) / 9.0 - 10.0;
    assert_eq!(largest(&mean, false), [Some(without), Some(10.0), Some(12.0), Some(11.0)]);
    // All samples of a round are high: so is their mean.
    assert_eq!(largest(&[19.0, 10.4, 10.4, 10.4], true)[0], Some(10.0));
}

#[test]
fn few_samples_of_a_round_that_repairs_a_loss_show_nothing() {
    let (of, few, lost, us) = ([0; 3], [2, 30, 2], [0, 1, 0], [10.0; 3]);
    let made = rounds(&us, &us, &us, None);
    let made = Rounds {
        of: Column::new(&of, None),
        rtt_samples: Column::new(&few, None),
        retransmits: Column::new(&lost, None),
        ..made
    };
    let shown = Delay { us: Some(0.0), one_way: false };
    assert_eq!(delays(&made), [Delay::default(), shown, shown]);
}

/// Rounds of one direction without queue below 10 us, with 10 samples each and no one-way delay.
fn rounds<'a>(least: &'a [f64], mean: &'a [f64], most: &'a [f64], prompt: Option<Bits<'a>>) -> Rounds<'a> {
    const NONE: Option<Bits<'static>> = Some(Bits { bytes: &[0], offset: 0 });
    let (whole, absent) = (Column::new(&[10, 10, 10, 10], None), Column::new(&[0.0; 4], NONE));
    Rounds {
        of: Column::new(&[0; 4][..least.len()], None),
        acked_packets: whole,
        sent_packets: whole,
        retransmits: Column::new(&[0; 4], None),
        rtt_samples: whole,
        rtt_min_us: Column::new(least, None),
        rtt_mean_us: Column::new(mean, None),
        rtt_max_us: Column::new(most, None),
        rtt_prompt_max_us: Column::new(most, prompt),
        sacked_rtt_min_us: absent,
        sacked_rtt_max_us: absent,
        owd_min_us: absent,
        owd_mean_us: absent,
        owd_max_us: absent,
        base_us: Column::new(&[10.0; 4], None),
        owd_base_us: absent,
        overtakes: vec![false; 4],
        merged: vec![false; 4],
    }
}

fn near(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 1e-12)
}
