//! One event: when it happened, what it is called, and its data.

use serde_json::Value;

use super::header::Trace;
use super::value;

/// An event whatever its form.
pub struct Event {
    pub time: f64,
    /// Without the category or schema before it: `metrics_updated`.
    pub name: String,
    pub data: Value,
}

/// `None` for what is no event.
pub fn read(mut json: Value, trace: &Trace) -> Option<Event> {
    match &mut json {
        Value::Array(parts) => {
            let time = value::of(parts.get(trace.place(&["relative_time", "time", "delta_time"])?)?)?;
            let name = parts.get(trace.place(&["event", "event_type", "name", "type"])?)?.as_str()?;
            let (name, at) = (bare(name), trace.place(&["data"])?);
            Some(Event { time, name, data: parts.get_mut(at)?.take() })
        }
        Value::Object(_) => {
            let time = value::number(&json, &["time", "relative_time", "delta_time"])?;
            let name =
                ["name", "event", "event_type", "type"].iter().find_map(|key| json.get(key)?.as_str())?;
            let name = bare(name);
            Some(Event { time, name, data: json.get_mut("data").map_or(Value::Null, Value::take) })
        }
        _ => None,
    }
}

/// Drafts call the same event by other categories: `transport:`, `recovery:`, `quic:`.
fn bare(name: &str) -> String {
    let last = name.rsplit(':').next().unwrap_or_default();
    let known = last.strip_prefix("recovery_").unwrap_or(last);
    known.chars().take(48).collect()
}
