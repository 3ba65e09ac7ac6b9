//! prague_update_alpha.

use super::build::SHIFT_G;

/// upscaled_alpha after one round that delivered `delivered` packets, `ce` of them marked.
pub fn update(bits: u32, upscaled: u64, delivered: u32, ce: u32) -> u64 {
    let fraction = (u64::from(ce) << bits) / u64::from(delivered.max(1));
    let max = 1u64 << (bits + SHIFT_G);
    (upscaled - (upscaled >> SHIFT_G)).saturating_add(fraction).min(max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_kept_while_all_packets_are_marked() {
        assert_eq!(update(20, 16 << 20, 10, 10), 16 << 20);
        assert_eq!(update(20, 16 << 20, 10, 10_000), 16 << 20);
    }

    #[test]
    fn lab_run_a_first_updates() {
        // detect at 1505.329616 and at 1505.339221: 9 packets, 4 of them marked.
        assert_eq!(update(20, 16_777_216, 12 - 3, 4), 16_194_673);
    }
}
