//! `key=value` fields of one line.

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
    let fields = text.split_ascii_whitespace().filter_map(|token| token.split_once('='));
    fields.filter(|(name, value)| set(name, value.trim_end_matches([',', ')']), columns)).count()
}

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
pub fn integer(text: &str) -> Option<i64> {
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
    fn what_is_no_field_is_left_out() {
        let mut columns = Columns::default();
        assert_eq!(set_fields("(prague_init+0x4/0x390 [tcp_prague]) sk=0x1 a=2, =3 b= 1=2", &mut columns), 2);
        columns.end_row();
        let taken = columns.take();
        assert_eq!(taken[0], ("sk".to_owned(), Column::Text(vec![Some("0x1".to_owned())])));
        assert_eq!(taken[1], ("a".to_owned(), Column::Int(vec![Some(2)])));
    }
}
