//! Blocks of a pcapng file: sections, interfaces, packets and statistics; names, comments, secrets and
//! whatever else a block can hold are left out.

use crate::read::pcapng::{
    Pcapng, ENHANCED_PACKET, INTERFACE, ORDER, PACKET, SECTION, SIMPLE_PACKET, STATISTICS,
};
use crate::read::record::{u16_at, u32_at, Record, NEEDED};

const DROP_COUNT: u16 = 4;
const TIME_RESOLUTION: u16 = 9;
const TIME_OFFSET: u16 = 14;
/// No interface: a packet block that could not be read stays one.
const NOWHERE: u32 = u32::MAX;

/// Appends what is kept of a block that is no packet, or a damaged one.
pub fn block(reader: &Pcapng, bytes: &[u8], out: &mut Vec<u8>) {
    let field = |at: usize| u32_at(bytes, at, reader.swapped);
    let body = reader.body(bytes);
    let (size, rest) = (body.len(), |at: usize| body.get(at..).unwrap_or_default());
    match field(0) {
        SECTION => {
            out.extend(section());
        }
        INTERFACE if size >= 16 => {
            let mut body = u32::from(u16_at(bytes, 8, reader.swapped)).to_le_bytes().to_vec();
            body.extend(field(12).to_le_bytes());
            for (code, value) in reader.options(rest(16)) {
                match (code, value.len()) {
                    (TIME_RESOLUTION, 1..) => option(code, &value[..1], &mut body),
                    (TIME_OFFSET, 8) => option(code, &reader.u64_of(value).to_le_bytes(), &mut body),
                    _ => {}
                }
            }
            write(INTERFACE, &body, out);
        }
        STATISTICS if size >= 20 => {
            let mut body = Vec::new();
            for at in [8, 12, 16] {
                body.extend(field(at).to_le_bytes());
            }
            for (code, value) in reader.options(rest(20)) {
                // Received, dropped, filtered and delivered packets.
                if matches!(code, 4..=8) && value.len() == 8 {
                    option(code, &reader.u64_of(value).to_le_bytes(), &mut body);
                }
            }
            write(STATISTICS, &body, out);
        }
        PACKET | ENHANCED_PACKET | SIMPLE_PACKET => enhanced([NOWHERE, 0, 0, 0], &[], 0, out),
        _ => {}
    }
}

/// A section of version 1.0 and of unknown length.
pub fn section() -> Vec<u8> {
    let mut body = ORDER.to_le_bytes().to_vec();
    body.extend([1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    let mut out = Vec::new();
    write(SECTION, &body, &mut out);
    out
}

/// Appends a packet with `left` as its bytes; times and interface are those of the block.
pub fn packet(reader: &Pcapng, bytes: &[u8], record: &Record, mut left: Vec<u8>, out: &mut Vec<u8>) {
    let field = |at: usize| u32_at(bytes, at, reader.swapped);
    match field(0) {
        SIMPLE_PACKET => {
            // It has no field for its captured length: zeros stand for what was removed.
            left.resize((record.captured_len as usize).min(NEEDED), 0);
            let mut body = record.wire_len.to_le_bytes().to_vec();
            body.extend(left);
            write(SIMPLE_PACKET, &body, out);
        }
        PACKET => {
            let drops = u16_at(bytes, 10, reader.swapped);
            let drops = if drops == 0xffff { 0 } else { u64::from(drops) };
            let interface = u32::from(u16_at(bytes, 8, reader.swapped));
            enhanced([interface, field(12), field(16), record.wire_len], &left, drops, out);
        }
        _ => {
            let options = 28 + ((record.captured_len as usize + 3) & !3);
            let options = reader.options(reader.body(bytes).get(options..).unwrap_or_default());
            let counts = options.filter(|(code, value)| *code == DROP_COUNT && value.len() == 8);
            let drops = counts.fold(0u64, |sum, (_, value)| sum.saturating_add(reader.u64_of(value)));
            enhanced([field(8), field(12), field(16), record.wire_len], &left, drops, out);
        }
    }
}

/// `fields`: interface, both halves of the time, length on the wire.
fn enhanced(fields: [u32; 4], data: &[u8], drops: u64, out: &mut Vec<u8>) {
    let [interface, high, low, wire_len] = fields;
    let mut body = Vec::with_capacity(data.len() + 48);
    for field in [interface, high, low, data.len() as u32, wire_len] {
        body.extend(field.to_le_bytes());
    }
    body.extend(data);
    pad(&mut body);
    if drops > 0 {
        option(DROP_COUNT, &drops.to_le_bytes(), &mut body);
    }
    write(ENHANCED_PACKET, &body, out);
}

fn option(code: u16, value: &[u8], body: &mut Vec<u8>) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn write(kind: u32, body: &[u8], out: &mut Vec<u8>) {
    let padded = (body.len() + 3) & !3;
    let size = (padded as u32 + 12).to_le_bytes();
    out.extend(kind.to_le_bytes());
    out.extend(size);
    out.extend(body);
    out.resize(out.len() + padded - body.len(), 0);
    out.extend(size);
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize((bytes.len() + 3) & !3, 0);
}
