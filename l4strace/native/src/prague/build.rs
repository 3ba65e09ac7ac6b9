//! The published builds of the detector: how many bits alpha has, and which references it compares with.

/// Constants that were compiled into one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    pub name: &'static str,
    /// PRAGUE_ALPHA_BITS.
    pub bits: u32,
    /// V0_LG: half the logarithm of the deviation reference.
    pub v0_lg: i64,
    /// D0_LG: half the logarithm of the depth reference.
    pub d0_lg: i64,
}

/// V = D = 1: both terms weigh one half.
pub const TERM_SHIFT: u32 = 1;

/// PRAGUE_ALPHA_BITS of all published trees; 31 is the one before there was a detector.
pub const ALPHA_BITS: [u32; 3] = [20, 24, 31];
/// Bits of a fraction of a packet in frac_cwnd (CWND_UNIT).
pub const CWND_BITS: u32 = 20;
/// PRAGUE_SHIFT_G: gain 1/16 of alpha's moving average, and the bits of upscaled_alpha below alpha.
pub const SHIFT_G: u32 = 4;
/// DEFAULT_RTT_TRANSITION of the builds with a correct detector: rounds until alpha and detector keep to
/// the target RTT.
pub const RTT_TRANSITION: u32 = 500;
/// The same of the builds from 5.15 on (P4 to P7).
pub const RTT_TRANSITION_515: u32 = 4;
/// Prague's target RTT (prague_rtt_target).
pub const TARGET_RTT_US: u32 = 25_000;

/// What the floor lets alpha be at least, as a share of the classic zone: 0.625
/// (prague_classic_ecn_fallback: `(c >> 1) + (c >> 3)`).
pub const fn floor_of(zone: u64) -> u64 {
    (zone >> 1) + (zone >> 3)
}

impl Build {
    /// log2(750 us) and log2(2000 us) with 20 fraction bits.
    pub const BITS20: Build =
        Build { name: "20-bit", bits: 20, v0_lg: 10_014_683 >> 1, d0_lg: 11_498_458 >> 1 };
    /// The same numbers read with 24 fraction bits: 1.51 us and 1.61 us (L4STeam/linux issue 38).
    pub const BITS24_BUGGY: Build = Build { name: "24-bit buggy", bits: 24, ..Build::BITS20 };
    /// log2(750 us) and log2(2000 us) with 24 fraction bits, as the fix of issue 38 has them.
    pub const BITS24_FIXED: Build =
        Build { name: "24-bit fixed", bits: 24, v0_lg: 160_234_941 >> 1, d0_lg: 183_975_331 >> 1 };
    pub const ALL: [Build; 3] = [Build::BITS20, Build::BITS24_BUGGY, Build::BITS24_FIXED];

    /// PRAGUE_MAX_ALPHA: 1.0 on alpha's scale, one score point on classic_ecn's.
    pub const fn unit(&self) -> i64 {
        1 << self.bits
    }

    /// L_STICKY, score 8: up to here the path counts as L4S.
    pub const fn l_sticky(&self) -> i64 {
        16 << (self.bits - TERM_SHIFT)
    }

    /// CLASSIC_ECN, score 9: from here on the floor under alpha is whole.
    pub const fn classic_ecn(&self) -> i64 {
        self.l_sticky() + self.unit()
    }

    /// C_STICKY, score 17: the score's upper end.
    pub const fn c_sticky(&self) -> i64 {
        self.classic_ecn() + self.l_sticky()
    }

    pub fn score(&self, classic_ecn: i64) -> f64 {
        classic_ecn as f64 / self.unit() as f64
    }

    /// Deviation at which the build's first term is nothing: 750 us, or 1.51 us with the scaling bug.
    pub fn mdev_reference_us(&self) -> f64 {
        self.reference_us(self.v0_lg)
    }

    /// Queue depth above which the build's second term counts: 2000 us, or 1.61 us with the scaling bug.
    pub fn depth_reference_us(&self) -> f64 {
        self.reference_us(self.d0_lg)
    }

    fn reference_us(&self, half_lg: i64) -> f64 {
        (half_lg as f64 / self.modulus() as f64).exp2()
    }

    /// Steps of the score are whole multiples of this, less the references.
    pub const fn modulus(&self) -> i64 {
        1 << (self.bits - TERM_SHIFT)
    }

    /// Residues that an unclamped step leaves: deviation term alone, then with the depth term.
    pub fn residues(&self) -> [i64; 2] {
        [(-self.v0_lg).rem_euclid(self.modulus()), (-self.v0_lg - self.d0_lg).rem_euclid(self.modulus())]
    }

    /// Residue of one step of classic_ecn; `None` when a clamp may have cut the step.
    pub fn residue(&self, before: i64, after: i64) -> Option<i64> {
        let clamped = after <= 0 || after >= self.c_sticky();
        (!clamped).then(|| after.wrapping_sub(before).rem_euclid(self.modulus()))
    }
}

/// Which build's constants one step of classic_ecn carries, if alpha has `bits` bits.
pub fn identify(bits: u32, before: i64, after: i64) -> Option<(Build, i64)> {
    Build::ALL.into_iter().filter(|build| build.bits == bits).find_map(|build| {
        let residue = build.residue(before, after)?;
        build.residues().contains(&residue).then_some((build, residue))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_the_published_values() {
        let zones = |b: Build| [b.l_sticky(), b.classic_ecn(), b.c_sticky()];
        assert_eq!(zones(Build::BITS20), [8_388_608, 9_437_184, 17_825_792]);
        assert_eq!(zones(Build::BITS24_FIXED), [134_217_728, 150_994_944, 285_212_672]);
    }

    #[test]
    fn references_are_those_that_the_sources_name() {
        let near = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-4, "{got} is not {want}");
        for build in [Build::BITS20, Build::BITS24_FIXED] {
            near(build.mdev_reference_us(), 750.0);
            near(build.depth_reference_us(), 2000.0);
        }
        near(Build::BITS24_BUGGY.mdev_reference_us(), 1.5125);
        near(Build::BITS24_BUGGY.depth_reference_us(), 1.6081);
    }

    #[test]
    fn residues_tell_the_builds_apart() {
        assert_eq!(Build::BITS24_BUGGY.residues(), [3_381_267, 6_020_646]);
        assert_eq!(Build::BITS24_FIXED.residues(), [3_768_610, 4_055_633]);
        assert_eq!(Build::BITS20.residues(), [235_539, 253_478]);
    }

    #[test]
    fn a_clamped_step_has_no_residue() {
        assert_eq!(identify(24, 0, 0), None);
        assert_eq!(identify(24, 0, Build::BITS24_BUGGY.c_sticky()), None);
        let step = 6_020_646 + 5 * (1 << 23);
        assert_eq!(identify(24, 1000, 1000 + step), Some((Build::BITS24_BUGGY, 6_020_646)));
    }
}
