//! Values of a JSON object as they are meant: numbers that stand as texts, names in any case.

use serde_json::Value;

/// Characters of a text that is kept.
const MAX_TEXT: usize = 200;

/// The number under the first of `names` that has one; a text that is a number counts.
pub fn number(object: &Value, names: &[&str]) -> Option<f64> {
    names.iter().find_map(|name| of(object.get(name)?))
}

pub fn of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// A number that counts something.
pub fn whole(object: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| whole_of(object.get(name)?))
}

pub fn whole_of(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| of(value).filter(|n| (0.0..1e18).contains(n)).map(|n| n as u64))
}

pub fn text(object: &Value, names: &[&str]) -> Option<String> {
    let found = names.iter().find_map(|name| object.get(name)?.as_str())?;
    Some(found.chars().take(MAX_TEXT).collect())
}

/// ns of a time or a duration in units of `unit_ns`; `None` beyond what 64 bits can be reckoned with.
pub fn nanoseconds(value: f64, unit_ns: f64) -> Option<i64> {
    let ns = (value * unit_ns).round();
    (ns.abs() <= FARTHEST_NS).then_some(ns as i64)
}

/// 73 years.
const FARTHEST_NS: f64 = (1u64 << 61) as f64;
