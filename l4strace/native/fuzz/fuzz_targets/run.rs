//! Two captures of one run: the bytes are split where the first two say, and the second capture is read
//! by a clock of its own. Reading, tracking, numbering, matching and every row of the tables.

#![no_main]

use l4strace_native::read::Input;
use l4strace_native::run;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [a, b, bytes @ ..] = data else { return };
    let cut = usize::from(u16::from_le_bytes([*a, *b])) % (bytes.len() + 1);
    // A capture beside itself has everything to match; beside the rest of the bytes mostly nothing.
    let (near, far) = if cut == 0 { (bytes, bytes) } else { bytes.split_at(cut) };
    let inputs = [Input::Memory("near".into(), near.into()), Input::Memory("far".into(), far.into())];
    let Ok(run) = run::run(&inputs, &mut ()) else { return };
    let flows = run.flows();
    for way in flows.iter().flat_map(|flow| flow.directions()) {
        let bounds = way.fed_back(|d| d.feedback.ce.lo).zip(way.fed_back_hi());
        assert!(bounds.is_none_or(|(lo, hi)| lo <= hi));
    }
    let _ = (run.rounds(&flows), run.captures.iter().map(run::Capture::stats).collect::<Vec<_>>());
});
