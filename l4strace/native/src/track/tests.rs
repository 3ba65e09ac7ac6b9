//! Whole conversations by hand: the hard cases.
