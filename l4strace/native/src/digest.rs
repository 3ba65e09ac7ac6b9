//! Many bytes as one 64-bit number.

/// Two words as one, of which each bit depends on both.
#[inline]
pub fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xc2b2_ae3d_27d4_eb4f);
    product as u64 ^ (product >> 64) as u64
}

/// The first bytes of a payload of so many bytes.
#[inline]
pub fn digest(start: &[u8], length: u32) -> u64 {
    start.chunks(8).fold(u64::from(length), |sum, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(sum, u64::from_le_bytes(word))
    })
}
