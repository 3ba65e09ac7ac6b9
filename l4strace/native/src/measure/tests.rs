//! Small cases; `tests/derive` compares whole tables.

use super::numbers::{correlation, median, quantile, rank_correlation, weighted_median, weighted_quantiles};
use super::{Bits, Column};

#[test]
fn a_value_whose_bit_is_not_set_is_not_present() {
    let column = Column::new(&[7, 8, 9], Some(Bits { bytes: &[0b1010_0000, 0b1], offset: 6 }));
    assert_eq!([0, 1, 2].map(|at| column.get(at)), [None, Some(8), Some(9)]);
    assert_eq!(column.or_zero(0), 0);
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
fn weights_count() {
    let values = vec![(30.0, 1.0), (10.0, 98.0), (20.0, 1.0)];
    assert_eq!(weighted_quantiles(values.clone(), &[0.5, 0.99, 1.0]), [10.0, 20.0, 30.0]);
    assert_eq!(weighted_median(values), Some(10.0));
    assert_eq!(weighted_median(vec![(1.0, 3.0), (9.0, 4.0), (5.0, 0.0)]), Some(9.0));
    assert_eq!(weighted_median(vec![(1.0, 0.0)]), None);
}

/// 49 of 98 are half of them, though 49 times 1/98 is less than 0.5.
#[test]
fn half_of_the_weights_is_enough() {
    assert_eq!(weighted_median(vec![(20.0, 49.0), (10.0, 49.0)]), Some(10.0));
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

fn near(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 1e-12)
}
