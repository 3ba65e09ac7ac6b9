//! A text log in pieces: the first byte chooses its shape and the size of the pieces.

#![no_main]

use l4strace_native::ktext::{Reader, Shape};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [choice, text @ ..] = data else { return };
    let shape = if choice & 1 == 0 { Shape::Event } else { Shape::Fields };
    let read = |size: usize| {
        let mut reader = Reader::new(shape);
        text.chunks(size).for_each(|piece| reader.feed(piece));
        reader.finish();
        (reader.counts(), reader.take())
    };
    let (counts, columns) = read(usize::from(choice >> 1) + 1);
    assert!(columns.iter().all(|(_, values)| values.len() as u64 == counts.rows));
    assert_eq!((counts, columns), read(text.len().max(1)));
});
