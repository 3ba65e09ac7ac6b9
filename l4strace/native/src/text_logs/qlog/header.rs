//! What the header of a trace states: units, reference time, whose log it is.

use serde_json::Value;

use super::value::{nanoseconds, number, text};

const MILLISECOND_NS: f64 = 1e6;
const MICROSECOND_NS: f64 = 1e3;
/// Fields of an event that is an array: drafts have five.
const MOST_FIELDS: usize = 16;

/// One connection as its header describes it.
#[derive(Clone, Debug)]
pub struct Trace {
    /// ns of one unit of its times and round trips.
    pub unit_ns: f64,
    /// Times count from the event before.
    pub relative: bool,
    /// Place of each field of an event that is an array.
    pub fields: Vec<String>,
    /// `client`, `server` or `network`.
    pub vantage: Option<String>,
    /// Who wrote the log.
    pub title: Option<String>,
    /// Reference of the times in ns, on whatever clock.
    pub reference_ns: Option<i64>,
    /// Reference as a date (RFC 3339).
    pub wall_clock: Option<String>,
}

impl Default for Trace {
    fn default() -> Self {
        let fields = ["time", "category", "event", "data"];
        Trace {
            unit_ns: MILLISECOND_NS,
            relative: false,
            fields: fields.map(str::to_owned).to_vec(),
            vantage: None,
            title: None,
            reference_ns: None,
            wall_clock: None,
        }
    }
}

impl Trace {
    /// `document`: the whole header; of its traces the last is the one that follows.
    pub fn of(document: &Value) -> Self {
        let last = document.get("traces").and_then(Value::as_array).and_then(|traces| traces.last());
        let trace = document.get("trace").or(last).unwrap_or(document);
        let common = trace.get("common_fields").unwrap_or(&Value::Null);
        let units = trace.get("configuration").and_then(|of| text(of, &["time_units"]));
        let micro = units.or_else(|| text(common, &["time_units"])).is_some_and(|unit| unit == "us");
        let unit_ns = if micro { MICROSECOND_NS } else { MILLISECOND_NS };
        let stated = trace.get("event_fields").and_then(Value::as_array);
        let fields =
            stated.map(|names| names.iter().take(MOST_FIELDS).map(|name| lower(name.as_str())).collect());
        let format = text(common, &["time_format"]).or_else(|| text(trace, &["time_format"]));
        let fields: Vec<String> = fields.unwrap_or_else(|| Trace::default().fields);
        let delta = fields.iter().any(|name| name == "delta_time");
        let reference = common.get("reference_time");
        let plain = number(common, &["reference_time"]);
        Trace {
            unit_ns,
            relative: delta
                || format.is_some_and(|format| format.ends_with("previous_event") || format == "delta"),
            vantage: vantage(trace),
            title: title(document, trace),
            reference_ns: plain.and_then(|value| nanoseconds(value, unit_ns)),
            wall_clock: reference.and_then(|time| text(time, &["wall_clock_time", "epoch"])),
            fields,
        }
    }

    /// Place of the field with one of `names` in an event that is an array.
    pub fn place(&self, names: &[&str]) -> Option<usize> {
        self.fields.iter().position(|field| names.contains(&field.as_str()))
    }
}

fn lower(name: Option<&str>) -> String {
    name.unwrap_or_default().chars().take(32).collect::<String>().to_ascii_lowercase()
}

fn vantage(trace: &Value) -> Option<String> {
    let point = trace.get("vantage_point")?;
    text(point, &["type"]).or_else(|| Some(point.as_str()?.chars().take(32).collect()))
}

fn title(document: &Value, trace: &Value) -> Option<String> {
    let of = |value: &Value| text(value, &["title"]);
    of(trace).or_else(|| of(document)).or_else(|| text(document, &["code_version"]))
}
