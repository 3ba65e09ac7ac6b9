//! One frame of any link type: the first byte chooses it.

#![no_main]

use l4strace_native::decode;
use l4strace_native::packet::Packet;
use libfuzzer_sys::fuzz_target;

const LINK_TYPES: [u32; 12] = [0, 1, 9, 12, 50, 51, 101, 104, 108, 113, 204, 276];

fuzz_target!(|data: &[u8]| {
    let [choice, wire, frame @ ..] = data else { return };
    let link_type = LINK_TYPES[usize::from(*choice) % LINK_TYPES.len()];
    let wire_len = frame.len() as u32 + u32::from(*wire);
    let mut packet = Packet::default();
    let _ = decode::frame(link_type, frame, wire_len, &mut packet);
});
