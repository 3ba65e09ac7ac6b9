//! prague_update_alpha and prague_enter_cwr.

/// PRAGUE_SHIFT_G: gain 1/16.
const SHIFT_G: u32 = 4;

/// upscaled_alpha after one round that delivered `delivered` packets, `ce` of them marked.
pub fn update(bits: u32, upscaled: u64, delivered: u32, ce: u32) -> u64 {
    let fraction = (u64::from(ce) << bits) / u64::from(delivered.max(1));
    let max = 1u64 << (bits + SHIFT_G);
    (upscaled - (upscaled >> SHIFT_G)).saturating_add(fraction).min(max)
}

/// frac_cwnd after prague_enter_cwr with the alpha that the fallback let through.
pub fn reduce(bits: u32, frac_cwnd: u64, alpha: u64) -> u64 {
    let product = u128::from(alpha) * u128::from(frac_cwnd) + (1u128 << bits);
    frac_cwnd.saturating_sub((product >> (bits + 1)) as u64)
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

    #[test]
    fn alpha_one_halves_the_window() {
        assert_eq!(reduce(20, 10_485_760, 1 << 20), 5_242_880);
        assert_eq!(reduce(24, 10_485_760, 10_485_760), 7_208_960);
    }
}
