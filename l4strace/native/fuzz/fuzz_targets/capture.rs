//! Whole files, fed in two pieces: framing, decode and tracking of whatever comes out.

#![no_main]

use l4strace_native::read::Decoder;
use l4strace_native::track::Tracker;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(mut decoder) = Decoder::new(&data[..data.len().min(24)]) else { return };
    let mut tracker = Tracker::default();
    let cut = data.len() / 2;
    let (done, _) = decoder.feed(&data[..cut], &mut |packets| tracker.packets(packets));
    let rest = data.get(done as usize..).unwrap_or_default();
    let (more, _) = decoder.feed(rest, &mut |packets| tracker.packets(packets));
    decoder.finish((rest.len() as u64).saturating_sub(more));
    tracker.finish();
    let _ = (decoder.info, decoder.stats.rows());
});
