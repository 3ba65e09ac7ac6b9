//! `key=value` fields of one line.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::columns::Columns;

/// Identities and addresses: digits in them are not numbers to count with.
const TEXT: [&str; 13] = [
    "sk",
    "skaddr",
    "sock",
    "sock_cookie",
    "skbaddr",
    "saddr",
    "daddr",
    "saddrv6",
    "daddrv6",
    "src",
    "dest",
    "cc",
    "comm",
];

/// Longest field name that is taken for one.
const MAX_NAME: usize = 48;

/// Sets a column for each `key=value` token of `text`; returns how many there were.
pub fn set_fields(text: &str, columns: &mut Columns) -> usize {
    let (bytes, mut from, mut count) = (text.as_bytes(), 0, 0);
    while from < bytes.len() {
        let rest = &bytes[from..];
        let length = rest.iter().position(|&byte| ENDS[usize::from(byte)]).unwrap_or(rest.len());
        let (name, after) = (from..from + length, from + length + 1);
        from = after;
        if rest.get(length) == Some(&b'=') {
            let value = bytes.get(after..).unwrap_or_default();
            if let Some(array) = value.strip_prefix(ARRAY) {
                let length = array.iter().position(|&byte| byte == b']').unwrap_or(array.len());
                from = after + ARRAY.len() + length;
                let address = address(&text[after + ARRAY.len()..from]);
                count += usize::from(address.is_some_and(|address| set(&text[name], &address, columns)));
                continue;
            }
            let value = after..after + value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
            from = value.end + 1;
            let value = text[value].trim_end_matches([',', ')']);
            count += usize::from(set(&text[name], value, columns));
        }
    }
    count
}

/// How `trace-cmd report` prints bytes of which it cannot parse the format, such as addresses of tcp_probe.
const ARRAY: &[u8] = b"ARRAY[";

/// The IP address in a `struct sockaddr_in` or `sockaddr_in6` of a little-endian host.
fn address(array: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> =
        array.split(',').take(SOCKADDR).map(|byte| u8::from_str_radix(byte.trim(), 16).ok()).collect();
    let bytes = bytes?;
    match bytes.get(..2)? {
        [2, 0] => bytes
            .get(4..8)
            .and_then(|ip| <[u8; 4]>::try_from(ip).ok())
            .map(|ip| Ipv4Addr::from(ip).to_string()),
        [10, 0] => bytes
            .get(8..24)
            .and_then(|ip| <[u8; 16]>::try_from(ip).ok())
            .map(|ip| Ipv6Addr::from(ip).to_string()),
        _ => None,
    }
}

/// Bytes of `struct sockaddr_in6`.
const SOCKADDR: usize = 28;

/// What ends a name: blanks, and the sign before its value.
const ENDS: [bool; 256] = {
    let (mut ends, mut byte) = ([false; 256], 0);
    while byte < 256 {
        ends[byte] = byte == b'=' as usize || (byte as u8).is_ascii_whitespace();
        byte += 1;
    }
    ends
};

/// Sets one field; false when it is none.
fn set(name: &str, value: &str, columns: &mut Columns) -> bool {
    if value.is_empty() {
        return false;
    }
    let column = columns.find(name).or_else(|| {
        let text = TEXT.contains(&name);
        is_name(name).then(|| columns.add(name, text)).flatten()
    });
    let Some(column) = column else { return false };
    match integer(value) {
        Some(number) if !columns.is_text(column) => columns.put_int(column, number),
        _ => columns.put_text(column, value.trim_matches('"')),
    }
    true
}

pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
        && !name.as_bytes()[0].is_ascii_digit()
}

/// Decimal or 0x-hexadecimal; unsigned values above i64::MAX keep their bits.
#[inline]
pub fn integer(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if digits.is_empty() || digits.len() > SHORT || !digits.iter().all(u8::is_ascii_digit) {
        return long_integer(text);
    }
    let number = digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    Some(if digits.len() < bytes.len() { -number } else { number })
}

/// Digits that 64 bits hold, whatever they are.
const SHORT: usize = 18;

fn long_integer(text: &str) -> Option<i64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(|v| v as i64);
    }
    if !text.as_bytes()[text.starts_with('-') as usize..].first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    text.parse().ok().or_else(|| text.parse::<u64>().ok().map(|v| v as i64))
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    #[test]
    fn integers_in_both_notations() {
        assert_eq!(integer("0x5114"), Some(0x5114));
        assert_eq!(integer("-1"), Some(-1));
        assert_eq!(integer("18446744073709551615"), Some(-1));
        assert_eq!(integer("1.5"), None);
        assert_eq!(integer("10.0.1.2:34018"), None);
        assert_eq!(integer("+1"), None);
        assert_eq!(integer("0x"), None);
    }

    #[test]
    fn addresses_as_bytes() {
        let mut columns = Columns::default();
        let v4 = "saddr=ARRAY[02, 00, 9c, 41, 0a, 00, 00, 01, 00, 00]";
        let v6 = format!("daddr=ARRAY[0a, 00, 9c, 41, 00, 00, 00, 00, fd{}, 01, 00]", ", 00".repeat(14));
        assert_eq!(set_fields(&format!("[FAILED TO PARSE] {v4} {v6} sport=7"), &mut columns), 3);
        columns.end_row();
        let taken = columns.take();
        assert_eq!(taken[0], ("saddr".to_owned(), Column::Text([Some("10.0.0.1")].into())));
        assert_eq!(taken[1], ("daddr".to_owned(), Column::Text([Some("fd00::1")].into())));
        assert_eq!(taken[2], ("sport".to_owned(), Column::Int(vec![Some(7)])));
        for damaged in
            ["a=ARRAY[", "a=ARRAY[02, 00]", "a=ARRAY[02, 0é, 1]", "a=ARRAY[07, 00, 1, 2, 3, 4, 5, 6, 7]"]
        {
            assert_eq!(set_fields(damaged, &mut columns), 0, "{damaged}");
        }
    }

    #[test]
    fn what_is_no_field_is_left_out() {
        let mut columns = Columns::default();
        assert_eq!(set_fields("(prague_init+0x4/0x390 [tcp_prague]) sk=0x1 a=2, =3 b= 1=2", &mut columns), 2);
        columns.end_row();
        let taken = columns.take();
        assert_eq!(taken[0], ("sk".to_owned(), Column::Text([Some("0x1")].into())));
        assert_eq!(taken[1], ("a".to_owned(), Column::Int(vec![Some(2)])));
    }
}
