//! The Internet checksum (RFC 1071).

/// Adds big-endian 16-bit words; an odd last byte is padded with zero.
pub fn sum(start: u32, data: &[u8]) -> u32 {
    let words =
        data.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low)));
    // Of 64 KiB at most, so that 32 bits hold the sum.
    words.fold(fold(start), |total, word| total + word)
}

fn fold(mut sum: u32) -> u32 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// The value for the header's field.
pub fn finish(sum: u32) -> [u8; 2] {
    (!(fold(sum) as u16)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(finish(sum(0, &data)), (!0xddf2u16).to_be_bytes());
        assert_eq!(sum(0, &[1]), 0x100);
    }
}
