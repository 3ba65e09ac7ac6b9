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

    pub fn named(name: &str) -> Option<Build> {
        Build::ALL.into_iter().find(|build| build.name == name)
    }

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
        (!clamped).then(|| (after - before).rem_euclid(self.modulus()))
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
