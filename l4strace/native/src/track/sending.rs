//! What one direction sends: its segments, its rounds, and what they show about its window.

pub(super) mod alpha;
pub(super) mod burst;
pub(super) mod data;
pub(super) mod echo;
pub(super) mod holes;
mod queue;
pub(super) mod reduction;
pub(super) mod rtt;
pub(super) mod segments;
pub(super) mod sender;
pub(super) mod smallest;
pub(super) mod train;
pub(super) mod window;
