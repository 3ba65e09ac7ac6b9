//! Rows of one round trip of one direction: when each ends, what it holds, and fewer of them in long captures.

pub(super) mod ending;
pub(super) mod round;
pub(super) mod rows;
pub(super) mod thin;
