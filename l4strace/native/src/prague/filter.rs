//! Prague's slow RTT filters (prague_pkts_acked) and their rescaling (prague_ssthresh).

/// PRAGUE_MAX_SRTT_BITS; the deviation's shift is one more.
pub const MAX_SRTT_SHIFT: u8 = 18;
/// TCP_INFINITE_SSTHRESH.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// tp->srtt_pace_us, tp->mdev_pace_us and their shifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttFilter {
    pub srtt: u64,
    pub mdev: u64,
    pub srtt_shift: u8,
    pub mdev_shift: u8,
}

impl RttFilter {
    /// As prague_init leaves it: the handshake's RTT and a deviation of 1 us.
    pub fn new(rtt_us: u64) -> Self {
        RttFilter {
            srtt: rtt_us << MAX_SRTT_SHIFT,
            mdev: 1 << (MAX_SRTT_SHIFT + 1),
            srtt_shift: MAX_SRTT_SHIFT,
            mdev_shift: MAX_SRTT_SHIFT + 1,
        }
    }

    // No shift is of more than MAX_SRTT_SHIFT + 1 bits.

    #[inline(always)]
    pub fn srtt_us(&self) -> u64 {
        self.srtt >> (self.srtt_shift & 63)
    }

    #[inline(always)]
    pub fn mdev_us(&self) -> u64 {
        self.mdev >> (self.mdev_shift & 63)
    }

    /// One RTT sample of prague_pkts_acked; the caller leaves out samples of -1.
    #[inline(always)]
    pub fn on_rtt(&mut self, rtt_us: u64) {
        if self.srtt == 0 {
            self.srtt = shl(rtt_us, self.srtt_shift);
            self.mdev = shl(1, self.mdev_shift);
            return;
        }
        let error = rtt_us as i64 - self.srtt_us() as i64;
        self.srtt = (self.srtt as i64).wrapping_add(error).max(1) as u64;
        let deviation = error.unsigned_abs() as i64 - self.mdev_us() as i64;
        self.mdev = (self.mdev as i64).wrapping_add(deviation) as u64;
    }

    /// prague_ssthresh: gain 1/(2 * ssthresh^1.5). Returns by how many bits the scale grew.
    pub fn rescale(&mut self, ssthresh: u32) -> i32 {
        let lg = ssthresh.max(1).ilog2() as u8;
        let shift = (lg + (lg >> 1) + 1).min(MAX_SRTT_SHIFT);
        let delta = i32::from(shift) - i32::from(self.srtt_shift);
        self.srtt = shift_by(self.srtt, delta);
        self.mdev = shift_by(self.mdev, delta);
        self.srtt_shift = shift;
        self.mdev_shift = shift + 1;
        delta
    }
}

/// Shifts left by a positive, right by a negative number of bits; right shifts truncate as in C.
pub fn shift_by(value: u64, bits: i32) -> u64 {
    let by = bits.unsigned_abs().min(64) as u8;
    if bits >= 0 {
        shl(value, by)
    } else {
        shr(value, by)
    }
}

fn shl(value: u64, bits: u8) -> u64 {
    value.checked_shl(u32::from(bits)).unwrap_or(0)
}

fn shr(value: u64, bits: u8) -> u64 {
    value.checked_shr(u32::from(bits)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_after_init_moves_by_its_error() {
        // Lab run a: 10,031 us at the handshake, then 10,030 us.
        let mut filter = RttFilter::new(10_031);
        filter.on_rtt(10_030);
        assert_eq!((filter.srtt, filter.mdev), (2_629_566_463, 524_288));
    }

    #[test]
    fn a_finite_ssthresh_lowers_the_shifts() {
        let mut filter = RttFilter::new(10_031);
        assert_eq!(filter.rescale(INFINITE_SSTHRESH), 0);
        assert_eq!(filter.rescale(7), -14);
        assert_eq!((filter.srtt_shift, filter.mdev_shift), (4, 5));
        assert_eq!((filter.srtt_us(), filter.mdev_us()), (10_031, 1));
        assert_eq!(filter.rescale(46), 4);
        assert_eq!(filter.srtt_us(), 10_031);
    }

    #[test]
    fn constant_rtt_leaves_no_deviation() {
        let mut filter = RttFilter::new(0);
        filter.rescale(16);
        for _ in 0..20_000 {
            filter.on_rtt(12_000);
        }
        assert_eq!(filter.srtt_us(), 12_000);
        assert_eq!(filter.mdev_us(), 0);
    }
}
