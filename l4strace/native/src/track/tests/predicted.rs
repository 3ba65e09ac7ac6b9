//! Header prediction leaves what the general code leaves, in every conversation of these tests.

use super::*;

impl Talk {
    /// Without prediction the packets leave the same.
    pub fn compare_with_general(&self) {
        let mut general = Tracker::general();
        general.packets(&self.said);
        general.finish();
        let left = |tracker: &Tracker| {
            let rows: Vec<_> = tracker.rounds.iter().collect();
            format!("{:?} {rows:?}", tracker.flows).replace("general: true", "general: false")
        };
        assert_eq!(left(&self.tracker), left(&general));
    }
}
