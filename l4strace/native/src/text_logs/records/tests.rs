//! What lines become columns, and which are left out.

use super::*;

fn read(text: &str) -> Records<'_> {
    let kinds =
        [("n", Kind::Int), ("u", Kind::Uint), ("x", Kind::Float), ("b", Kind::Bool), ("s", Kind::Text)];
    let fields = kinds.map(|(name, kind)| (name.to_owned(), kind)).to_vec();
    Records::read(fields, text.as_bytes())
}

fn texts(text: &str) -> Vec<Option<String>> {
    match &read(text).columns[4].1 {
        Values::Text(values) => values.iter().map(|v| v.as_deref().map(str::to_owned)).collect(),
        other => panic!("{other:?}"),
    }
}

fn is(text: &str, column: usize, expected: &Values) {
    assert_eq!(&read(text).columns[column].1, expected, "{text}");
}

#[test]
fn what_a_line_lacks_is_null_and_blank_lines_are_no_rows() {
    let text = "{\"n\": -5, \"u\": 18446744073709551615}\r\n\n  \n{\"x\": 2, \"n\": null, \"other\": [{}]}\n{\"b\": true}";
    is(text, 0, &Values::Int(vec![Some(-5), None]));
    is(text, 1, &Values::Uint(vec![Some(u64::MAX)]));
    is(text, 2, &Values::Float(vec![None, Some(2.0)]));
    is(text, 3, &Values::Bool(vec![None, None, Some(true)]));
    assert_eq!((read(text).rows, read(text).unread), (3, 0));
}

#[test]
fn a_line_with_a_value_of_another_kind_leaves_nothing() {
    for bad in [
        "{\"n\": 1.0}",
        "{\"n\": \"1\"}",
        "{\"n\": true}",
        "{\"n\": 9223372036854775808}",
        "{\"u\": -1}",
        "{\"x\": \"1\"}",
        "{\"x\": NaN}",
        "{\"x\": 1e999}",
        "{\"b\": 1}",
        "{\"n\": [1]}",
        "[1]",
        "5",
        "{\"n\": 1} {}",
        "{\"n\": 1",
        "{\"n\" 1}",
        "{n: 1}",
        "{\"s\": \"a\tb\"}",
    ] {
        let text = format!("{{\"u\": 7}}\n{{\"n\": 3, \"b\": false, {}\n{bad}\n{{\"n\": 4}}", "\"s\": {");
        let records = read(&text);
        assert_eq!((records.rows, records.unread), (2, 2), "{bad}");
        assert_eq!(records.columns[0].1, Values::Int(vec![None, Some(4)]), "{bad}");
        assert_eq!(records.columns[3].1, Values::Bool(vec![None]), "{bad}");
    }
}

#[test]
fn texts_are_unescaped_and_other_values_stay_json() {
    let text = "{\"s\": \"a\\u00e9\\n\"}\n{\"s\": \"plain é\"}\n{\"s\": \"\"}\n{\"s\": 5}\n{\"s\": {\"a\": [1]}}\n{\"s\": null}\n{\"s\": \"\\ud800y\"}";
    let found = [
        Some("aé\n"),
        Some("plain é"),
        Some(""),
        Some("5"),
        Some("{\"a\": [1]}"),
        None,
        Some("\u{fffd}\u{fffd}\u{fffd}y"),
    ];
    assert_eq!(texts(text), found.map(|v| v.map(str::to_owned)));
}

#[test]
fn of_a_field_that_stands_twice_the_last_value_counts() {
    is("{\"n\": 1, \"n\": 2}\n{\"n\": 3, \"n\": null}", 0, &Values::Int(vec![Some(2), None]));
}

#[test]
fn bytes_that_are_no_utf8_spoil_their_line_only() {
    let fields = vec![("s".to_owned(), Kind::Text)];
    let records = Records::read(fields, b"{\"s\": \"\xff\"}\n{\"s\": \"a\"}");
    assert_eq!((records.rows, records.unread), (1, 1));
}
