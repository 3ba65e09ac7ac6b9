//! One conversation: its two directions, and the packets of it that are not what they look like.

pub(super) mod clock;
pub(super) mod direction;
pub(super) mod flow;
mod predicted;
pub(super) mod reuse;
pub(super) mod seq;
pub(super) mod several;
pub(super) mod strays;
pub(super) mod twice;
