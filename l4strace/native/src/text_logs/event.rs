//! One trace event a line, as tracefs, `trace-cmd report` and `perf script` print it:
//! `comm-pid [cpu] flags seconds.fraction: system:event: (location) key=value ...`.

use memchr::{memchr, memchr_iter, memrchr};

use super::columns::Columns;
use super::fields::{is_name, set_fields};

/// What a line turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Event,
    /// Text that stands for no lost event: what a person or tool wrote into the ring (`echo > trace_marker`,
    /// trace_printk), and what `trace-cmd report` prints about its file.
    Printed,
    /// Comments, headers, notices of lost events, damage.
    Other,
}

const PRINTED: [&str; 4] = ["tracing_mark_write", "print", "bprint", "bputs"];

/// Reads one line; an event becomes a row. Without fields the row has nothing but the event's name: whether it
/// lost them, or never had any (`rcu_utilization: Start context switch`), is up to who knows that event.
pub fn read_line(line: &str, columns: &mut Columns) -> Line {
    let Some(Head { cpu, ts_ns, event, fields }) = head(line) else { return without_time(line) };
    if PRINTED.contains(&event) {
        return Line::Printed;
    }
    columns.set_int("ts_ns", ts_ns);
    columns.set_text("event", event);
    columns.set_int("cpu", cpu);
    let body = skip_location(fields);
    if set_fields(body, columns) == 0 {
        columns.abandon_row();
        columns.set_text("event", event);
    }
    columns.end_row();
    Line::Event
}

/// A line without a time of seconds. Clocks that count (`counter`, `x86-tsc`) print `N: print:` all the same.
#[cold]
fn without_time(line: &str) -> Line {
    let printed = |(at, _): (usize, &str)| {
        let name = line[at + 2..].split(':').next().unwrap_or_default();
        line[..at].ends_with(|c: char| c.is_ascii_digit()) && PRINTED.contains(&name)
    };
    if is_preamble(line) || line.match_indices(": ").any(printed) {
        Line::Printed
    } else {
        Line::Other
    }
}

/// `version = 7`, `CPU 0 is empty`, `cpus=4`: how `trace-cmd report` begins.
fn is_preamble(line: &str) -> bool {
    let empty = || line.strip_prefix("CPU ")?.strip_suffix(" is empty");
    let stated = line.strip_prefix("version = ").or_else(|| line.strip_prefix("cpus=")).or_else(empty);
    stated.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Number of events that a notice reports lost: `CPU:0 [LOST 117 EVENTS]` of tracefs, `CPU:0 [117 EVENTS
/// DROPPED]` of trace-cmd. Where the kernel did not count them both omit the number: at least one.
pub fn lost_events(line: &str) -> Option<u64> {
    if line.ends_with("[LOST EVENTS]") || line.ends_with("[EVENTS DROPPED]") {
        return Some(1);
    }
    if let Some(dropped) = line.strip_suffix(" EVENTS DROPPED]") {
        return dropped.rsplit('[').next()?.parse().ok();
    }
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

/// What every event has, and its fields.
struct Head<'t> {
    cpu: i64,
    ts_ns: i64,
    event: &'t str,
    fields: &'t str,
}

/// Looks for `seconds.fraction: event:` behind a CPU in brackets.
///
/// A task chooses its own name, at most 15 bytes (TASK_COMM_LEN), which stands before: `[0] `, a time
/// with six decimals and an event's name do not fit into it, so that no name can forge an event, nor hide one.
fn head(line: &str) -> Option<Head<'_>> {
    let bytes = line.as_bytes();
    let ends = memchr_iter(b':', bytes).filter(|&colon| bytes.get(colon + 1) == Some(&b' '));
    for colon in ends {
        let before = bytes[..colon].iter().rposition(|byte| matches!(byte, b' ' | b'\t'));
        let start = before.map_or(0, |at| at + 1);
        let Some(ts_ns) = stamp(&line[start..colon]) else { continue };
        let named = || event_name(line[colon + 2..].trim_start());
        if let Some((cpu, (event, fields))) = cpu_number(&line[..start]).and_then(|cpu| Some((cpu, named()?)))
        {
            return Some(Head { cpu, ts_ns, event, fields });
        }
    }
    None
}

/// A time as all tools print it.
fn stamp(text: &str) -> Option<i64> {
    let point = memchr(b'.', text.as_bytes())?;
    (text.len() - point > FRACTION).then(|| seconds(text)).flatten()
}

/// Nanoseconds of `seconds.fraction`.
pub fn seconds(text: &str) -> Option<i64> {
    let point = memchr(b'.', text.as_bytes())?;
    let (whole, fraction) = (&text[..point], &text.as_bytes()[point + 1..]);
    let digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    if !digits(whole.as_bytes()) || !digits(fraction) {
        return None;
    }
    let nine = fraction.iter().chain(&[b'0'; 9]).take(9);
    let ns = nine.fold(0, |ns, digit| ns * 10 + i64::from(digit - b'0'));
    whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
}

fn event_name(rest: &str) -> Option<(&str, &str)> {
    let end = rest.bytes().position(|byte| byte == b' ' || byte == b'\t').unwrap_or(rest.len());
    let name = rest[..end].strip_suffix(':')?;
    let name = memrchr(b':', name.as_bytes()).map_or(name, |at| &name[at + 1..]);
    is_name(name).then_some((name, &rest[end..]))
}

fn cpu_number(before: &str) -> Option<i64> {
    let number = &before[memrchr(b'[', before.as_bytes())? + 1..];
    number[..memchr(b']', number.as_bytes()).unwrap_or(number.len())].parse().ok()
}

/// Leaves out `(function+0x4/0x390 [module])`, which may hold spaces.
fn skip_location(fields: &str) -> &str {
    let body = fields.trim_start();
    if !body.starts_with('(') {
        return body;
    }
    memchr(b')', body.as_bytes()).map_or(body, |end| &body[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    fn columns_of(line: &str) -> Vec<(String, Column)> {
        let mut columns = Columns::default();
        assert_eq!(read_line(line, &mut columns), Line::Event, "{line}");
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
            assert_eq!(columns[1], ("event".to_owned(), Column::Text([Some("ack")].into())));
        }
    }

    #[test]
    fn a_return_probe_names_two_functions() {
        let columns = columns_of("<idle>-0 [002] ..s4. 13.521222: fallback: (prague_enter_cwr+0xc8/0xe0 [tcp_prague] <- prague_classic_ecn_fallback) alpha_out=10485760");
        assert_eq!(ints(&columns, "alpha_out"), Some(10_485_760));
        assert_eq!(ints(&columns, "cpu"), Some(2));
    }

    #[test]
    fn an_event_without_fields_is_its_name() {
        let mut columns = Columns::default();
        for fields in ["Start context switch", "(f+0x4/0x80)", ""] {
            let line = format!("<idle>-0 [002] 13.521222: rcu_utilization: {fields}");
            assert_eq!(read_line(line.trim_end(), &mut columns), Line::Event);
        }
        let named = Column::Text([Some("rcu_utilization"); 3].into());
        for (name, column) in columns.take() {
            assert_eq!(column, if name == "event" { named.clone() } else { Column::Int(vec![None; 3]) });
        }
    }

    #[test]
    fn a_task_cannot_name_itself_an_event() {
        // 15 bytes, which is what prctl(PR_SET_NAME) takes.
        for comm in [
            "1.5: ack: x=1",
            "0.0: ack: cwr=1",
            "[0] 9.0: cwr: ",
            "-1 [0] 1.5: ack",
            "[0] 1.000000: x",
            "[0]1.000000: a:",
            "[0] 1.000000: :",
            "7: print: x",
        ] {
            assert!(comm.len() <= 15);
            for line in [
                format!("{comm:>16}-77 [000] ..s4.  1505.275453: sched_wakeup: {FIELDS}"),
                format!("{comm}     77 [000] 1505.275453: sched:sched_wakeup: {FIELDS}"),
            ] {
                let columns = columns_of(&line);
                assert_eq!(ints(&columns, "ts_ns"), Some(1_505_275_453_000), "{line}");
                assert_eq!(columns[1].1, Column::Text([Some("sched_wakeup")].into()), "{line}");
            }
        }
    }

    #[test]
    fn what_somebody_wrote_into_the_ring_is_no_event_whatever_it_says() {
        let mut columns = Columns::default();
        for line in [
            "bash-7 [000] ..... 12.500000: tracing_mark_write: begin",
            "bash-7 [000] ..... 12.500000: tracing_mark_write: x-1 [0] 1.500000: ack: sk=1 snd_cwnd=2",
            "x-1 [003] d..2. 12.500000: bprint: tcp_ack: una=5",
            "x-1  [003]  12.500000: print:                ffffffff81 a=5",
            "x-1 [003] 12.500000: ftrace:bputs: 0xffffffff",
            "x-1 [003] ..... 12345: tracing_mark_write: by a clock that counts",
            "version = 7",
            "CPU 12 is empty",
            "cpus=16",
        ] {
            assert_eq!(read_line(line, &mut columns), Line::Printed, "{line}");
        }
        // A task cannot hide what happens by its name.
        let line = format!("1: print: x-77 [000] ..s4.  1505.275453: ack: {FIELDS}");
        assert_eq!(read_line(&line, &mut columns), Line::Event);
        assert_eq!(columns.rows(), 1);
    }

    #[test]
    fn notices_are_no_events() {
        let mut columns = Columns::default();
        for line in [
            "# tracer: nop",
            "",
            "cpus=",
            "cpus=1 x",
            "CPU 1 is full",
            "CPU:0 [LOST 117 EVENTS]",
            "x-1 [000] 1.5: sched_switch: a ==> b",
            "é: ü 1.5: ",
        ] {
            assert_eq!(read_line(line, &mut columns), Line::Other, "{line}");
        }
        assert_eq!(columns.rows(), 0);
        for (notice, lost) in [
            ("CPU:0 [LOST 117 EVENTS]", Some(117)),
            ("CPU:0 [LOST EVENTS]", Some(1)),
            ("CPU:7 [204600 EVENTS DROPPED]", Some(204_600)),
            ("CPU:7 [EVENTS DROPPED]", Some(1)),
            ("CPU:7 [99999999999999999999 EVENTS DROPPED]", None),
            ("CPU:7 [x EVENTS DROPPED]", None),
        ] {
            assert_eq!(lost_events(notice), lost, "{notice}");
        }
        assert_eq!(overwritten("# entries-in-buffer/entries-written: 77000/77261   #P:1"), Some(261));
    }
}
