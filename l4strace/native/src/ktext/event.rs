//! One trace event a line, as tracefs, `trace-cmd report` and `perf script` print it:
//! `comm-pid [cpu] flags seconds.fraction: system:event: (location) key=value ...`.

use super::columns::Columns;
use super::fields::{is_name, set_fields};

/// Reads one line. False when it is not an event (comments, headers, lost-event notices, damage).
pub fn read_line(line: &str, columns: &mut Columns) -> bool {
    let Some((before, ts_ns, rest)) = split_at_time(line) else { return false };
    let Some((event, fields)) = event_name(rest) else { return false };
    columns.set_int("ts_ns", ts_ns);
    columns.set_text("event", event);
    if let Some(cpu) = cpu_number(before) {
        columns.set_int("cpu", cpu);
    }
    let body = skip_location(fields);
    if set_fields(body, columns) == 0 {
        columns.abandon_row();
        return false;
    }
    columns.end_row();
    true
}

/// Number of events that a notice such as `CPU:0 [LOST 117 EVENTS]` reports lost.
pub fn lost_events(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("[LOST ").or_else(|| line.split_once("LOST "))?;
    let (number, tail) = rest.split_once(' ')?;
    tail.to_ascii_lowercase().starts_with("event").then(|| number.parse().ok())?
}

/// `entries-in-buffer/entries-written: a/b` of a tracefs header: what the ring overwrote.
pub fn overwritten(line: &str) -> Option<u64> {
    let (_, rest) = line.strip_prefix('#')?.split_once("entries-in-buffer/entries-written:")?;
    let (kept, written) = rest.split_ascii_whitespace().next()?.split_once('/')?;
    Some(written.parse::<u64>().ok()?.saturating_sub(kept.parse().ok()?))
}

/// Fewest digits after the point: all tools print microseconds or nanoseconds.
const FRACTION: usize = 6;

/// Splits at the first token `seconds.fraction:` that follows a CPU in brackets.
///
/// A task chooses its own name, at most 15 bytes (TASK_COMM_LEN), which stands before: `[0] `, a time
/// with six decimals and an event's name do not fit into it, so that no name can forge an event.
fn split_at_time(line: &str) -> Option<(&str, i64, &str)> {
    let mut from = 0;
    while let Some(colon) = line.get(from..)?.find(": ").map(|at| at + from) {
        let start = line[..colon].rfind([' ', '\t', ']']).map_or(0, |at| at + 1);
        let digits = line[start..colon].split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let placed = digits >= FRACTION && cpu_number(&line[..start]).is_some();
        if let Some(ts_ns) = placed.then(|| seconds(&line[start..colon])).flatten() {
            return Some((&line[..start], ts_ns, line[colon + 2..].trim_start()));
        }
        from = colon + 2;
    }
    None
}

/// Nanoseconds of `seconds.fraction`.
pub fn seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.')?;
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let nine: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nine.parse().ok()?)
}

fn event_name(rest: &str) -> Option<(&str, &str)> {
    let end = rest.find([' ', '\t']).unwrap_or(rest.len());
    let name = rest[..end].strip_suffix(':')?;
    let name = name.rsplit(':').next()?;
    is_name(name).then_some((name, &rest[end..]))
}

fn cpu_number(before: &str) -> Option<i64> {
    let open = before.rfind('[')?;
    before[open + 1..].split(']').next()?.parse().ok()
}

/// Leaves out `(function+0x4/0x390 [module])`, which may hold spaces.
fn skip_location(fields: &str) -> &str {
    let body = fields.trim_start();
    if !body.starts_with('(') {
        return body;
    }
    body.find(')').map_or(body, |end| &body[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    fn columns_of(line: &str) -> Vec<(String, Column)> {
        let mut columns = Columns::default();
        assert!(read_line(line, &mut columns), "{line}");
        columns.take()
    }

    fn ints(columns: &[(String, Column)], name: &str) -> Option<i64> {
        columns.iter().find_map(|(n, column)| match column {
            Column::Int(values) if n == name => values[0],
            _ => None,
        })
    }

    const FIELDS: &str = "sk=0xffff88810a12e000 sport=34018 rs_rtt=-1";

    #[test]
    fn three_tools_one_event() {
        let lines = [
            format!("          <idle>-0       [000] ..s4.  1505.275453: ack: (prague_cong_control+0x4/0x80 [tcp_prague]) {FIELDS}"),
            format!("          <idle>-0     [000]  1505.275453: ack:                  (ffffffffc0a01234) {FIELDS}"),
            format!("swapper     0 [000]  1505.275453:             pr:ack: (ffffffffc0a01234) {FIELDS}"),
            format!("Web: 1.5 x-12 [003] d..2. 1505.275453: ack: {FIELDS}"),
        ];
        for line in lines {
            let columns = columns_of(&line);
            assert_eq!(ints(&columns, "ts_ns"), Some(1_505_275_453_000), "{line}");
            assert_eq!(ints(&columns, "sport"), Some(34018));
            assert_eq!(ints(&columns, "rs_rtt"), Some(-1));
            assert_eq!(columns[1], ("event".to_owned(), Column::Text(vec![Some("ack".to_owned())])));
        }
    }

    #[test]
    fn a_return_probe_names_two_functions() {
        let columns = columns_of("<idle>-0 [002] ..s4. 13.521222: fallback: (prague_enter_cwr+0xc8/0xe0 [tcp_prague] <- prague_classic_ecn_fallback) alpha_out=10485760");
        assert_eq!(ints(&columns, "alpha_out"), Some(10_485_760));
        assert_eq!(ints(&columns, "cpu"), Some(2));
    }

    #[test]
    fn a_task_cannot_name_itself_an_event() {
        // 15 bytes, which is what prctl(PR_SET_NAME) takes.
        for comm in ["1.5: ack: x=1", "0.0: ack: cwr=1", "[0] 9.0: cwr: ", "-1 [0] 1.5: ack"] {
            assert!(comm.len() <= 15);
            let line = format!("{comm:>16}-77 [000] ..s4.  1505.275453: sched_wakeup: {FIELDS}");
            let columns = columns_of(&line);
            assert_eq!(ints(&columns, "ts_ns"), Some(1_505_275_453_000), "{line}");
            assert_eq!(columns[1].1, Column::Text(vec![Some("sched_wakeup".to_owned())]), "{line}");
        }
    }

    #[test]
    fn notices_are_no_events() {
        let mut columns = Columns::default();
        for line in [
            "# tracer: nop",
            "",
            "cpus=1",
            "CPU:0 [LOST 117 EVENTS]",
            "x-1 [000] 1.5: sched_switch: a ==> b",
            "é: ü 1.5: ",
        ] {
            assert!(!read_line(line, &mut columns), "{line}");
        }
        assert_eq!(columns.rows(), 0);
        assert_eq!(lost_events("CPU:0 [LOST 117 EVENTS]"), Some(117));
        assert_eq!(overwritten("# entries-in-buffer/entries-written: 77000/77261   #P:1"), Some(261));
    }
}
