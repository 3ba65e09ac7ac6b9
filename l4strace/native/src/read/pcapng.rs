//! pcapng (draft-ietf-opsawg-pcapng): sections, interfaces and the three kinds of packet block.

use super::info::SourceInfo;
use super::record::{u16_at, u32_at, Record, Step, NEEDED};
use super::resolution::Resolution;
use crate::packet;
use crate::stats::{Loss, Stats};

pub const SECTION: u32 = 0x0a0d_0d0a;
pub const INTERFACE: u32 = 1;
/// Obsolete, but still written by old devices.
pub const PACKET: u32 = 2;
pub const SIMPLE_PACKET: u32 = 3;
pub const STATISTICS: u32 = 5;
pub const ENHANCED_PACKET: u32 = 6;

pub const ORDER: u32 = 0x1a2b_3c4d;
/// A block larger than this is damage: the largest packets are 128 MiB.
const MAX_BLOCK: u32 = 256 << 20;
/// Options beyond this are not looked at.
const MAX_OPTIONS: usize = NEEDED;
/// Interfaces of one section; packets of further ones name no known interface.
const MAX_INTERFACES: usize = 1 << 16;
/// Link types that a source lists: libpcap knows fewer than 300.
const MAX_LINK_TYPES: usize = 64;
/// Bytes of section comments that are kept.
const MAX_COMMENT: usize = 1 << 18;

#[derive(Clone, Debug, Default)]
struct Interface {
    link_type: u32,
    snaplen: u32,
    resolution: Resolution,
    offset_ns: i64,
    /// Drops that statistics blocks state (running total) and that packet blocks state (sum).
    dropped: u64,
    dropped_between: u64,
}

/// Reader of one file: knows its current section.
#[derive(Clone, Debug, Default)]
pub struct Pcapng {
    pub swapped: bool,
    interfaces: Vec<Interface>,
    /// Interfaces of the sections before: each section numbers its own from 0.
    before: u32,
    last_ns: i64,
    /// Drops so far, over all sections and interfaces.
    dropped: u64,
}

/// Whether the first four bytes are those of this format.
pub fn is_pcapng(start: &[u8]) -> bool {
    start.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a])
}

impl Pcapng {
    #[inline]
    pub fn step(&mut self, bytes: &[u8], info: &mut SourceInfo, stats: &mut Stats) -> Step {
        if bytes.len() < 12 {
            return Step::More(12);
        }
        let kind = u32_at(bytes, 0, self.swapped);
        if kind == SECTION {
            if let Err(why) = self.byte_order(&bytes[8..12]) {
                return Step::Damaged(why);
            }
        }
        let size = u32_at(bytes, 4, self.swapped);
        if !(12..=MAX_BLOCK).contains(&size) {
            return Step::Damaged(format!("a block claims {size} bytes"));
        }
        // Blocks are padded to four bytes; some writers forget to count the padding in.
        let size = (size as usize + 3) & !3;
        if bytes.len() < size.min(NEEDED) {
            return Step::More(size.min(NEEDED));
        }
        self.block(kind, size, self.body(bytes), info, stats)
    }

    /// Of the block at the start of `bytes`, what is read: no closing length, nothing beyond `NEEDED`.
    #[inline]
    pub fn body<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let size = (u32_at(bytes, 4, self.swapped) as usize + 3) & !3;
        let end = if size <= NEEDED { size.saturating_sub(4) } else { NEEDED };
        &bytes[..end.min(bytes.len())]
    }

    #[inline]
    fn block(
        &mut self,
        kind: u32,
        size: usize,
        block: &[u8],
        info: &mut SourceInfo,
        stats: &mut Stats,
    ) -> Step {
        let record = match kind {
            ENHANCED_PACKET => self.enhanced(size, block),
            SIMPLE_PACKET => self.simple(size, block, stats),
            PACKET => self.obsolete(size, block),
            _ => {
                self.other(kind, block, info, stats);
                return Step::Skip(size as u64);
            }
        };
        match record {
            Some(record) => Step::Packet(record),
            None => {
                stats.add(Loss::DamagedFile, 1);
                stats.explain(Loss::DamagedFile, || {
                    "A packet block names no known interface or a wrong length.".into()
                });
                Step::Skip(size as u64)
            }
        }
    }

    #[inline]
    fn enhanced(&mut self, size: usize, block: &[u8]) -> Option<Record> {
        let header = block.get(..28)?;
        let field = |i: usize| u32_at(header, 8 + 4 * i, self.swapped);
        let (id, high, low, captured_len, wire_len) = (field(0), field(1), field(2), field(3), field(4));
        let record = self.record(id, (high, low), captured_len, wire_len, 28, size)?;
        let options = 28 + ((captured_len as usize + 3) & !3);
        // Most writers put no options here: do not even look.
        if options + 4 < size {
            self.packet_options(id, block.get(options..).unwrap_or_default());
        }
        Some(record)
    }

    fn obsolete(&mut self, size: usize, block: &[u8]) -> Option<Record> {
        let header = block.get(..28)?;
        let id = u32::from(u16_at(header, 8, self.swapped));
        let drops = u16_at(header, 10, self.swapped);
        let field = |i: usize| u32_at(header, 12 + 4 * i, self.swapped);
        let record = self.record(id, (field(0), field(1)), field(2), field(3), 28, size)?;
        if drops != 0xffff {
            self.drop_on(id, |interface| interface.count_between(u64::from(drops)));
        }
        Some(record)
    }

    /// A block without timestamp: it gets the last one seen, and the table of losses reports it.
    fn simple(&mut self, size: usize, block: &[u8], stats: &mut Stats) -> Option<Record> {
        let wire_len = u32_at(block.get(..12)?, 8, self.swapped);
        let number = self.number_of(0);
        let interface = self.interfaces.first()?;
        let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        stats.add(Loss::NoTimestamp, 1);
        Some(Record {
            link_type: interface.link_type,
            interface: number,
            ts_ns: self.last_ns,
            wire_len,
            captured_len: wire_len.min(limit).min(size as u32 - 16),
            data: 12,
            size: size as u64,
        })
    }

    #[inline]
    fn record(
        &mut self,
        id: u32,
        ticks: (u32, u32),
        captured_len: u32,
        wire_len: u32,
        data: usize,
        size: usize,
    ) -> Option<Record> {
        let interface = self.interfaces.get(id as usize)?;
        if captured_len as usize > size - data - 4 {
            return None;
        }
        let ticks = u64::from(ticks.0) << 32 | u64::from(ticks.1);
        let ts_ns = interface.resolution.ns(ticks).wrapping_add(interface.offset_ns);
        self.last_ns = ts_ns;
        Some(Record {
            link_type: interface.link_type,
            interface: self.number_of(id),
            ts_ns,
            wire_len: wire_len.max(captured_len),
            captured_len,
            data,
            size: size as u64,
        })
    }

    /// The interface `id` of this section among those of the whole file, once that has several.
    #[inline]
    fn number_of(&self, id: u32) -> packet::Interface {
        if self.before == 0 && self.interfaces.len() == 1 {
            return packet::Interface::default();
        }
        packet::Interface::numbered(self.before.saturating_add(id))
    }

    fn other(&mut self, kind: u32, block: &[u8], info: &mut SourceInfo, stats: &mut Stats) {
        match kind {
            SECTION => self.section(block, info),
            INTERFACE => self.interface(block, info),
            STATISTICS => self.statistics(block),
            _ => return,
        }
        stats.set(Loss::CaptureDrops, self.dropped);
    }

    fn byte_order(&mut self, magic: &[u8]) -> Result<(), String> {
        self.swapped = match u32_at(magic, 0, false) {
            ORDER => false,
            order if order.swap_bytes() == ORDER => true,
            order => return Err(format!("a section has byte-order magic {order:#010x}")),
        };
        Ok(())
    }

    fn section(&mut self, block: &[u8], info: &mut SourceInfo) {
        self.before = self.before.saturating_add(self.interfaces.len() as u32);
        self.interfaces.clear();
        for (code, value) in self.options(block.get(24..).unwrap_or_default()) {
            if code == 1 {
                note(&mut info.comment, value);
            }
        }
    }

    fn interface(&mut self, block: &[u8], info: &mut SourceInfo) {
        let Some(header) = block.get(8..16) else { return };
        let mut interface = Interface {
            link_type: u32::from(u16_at(header, 0, self.swapped)),
            snaplen: u32_at(header, 4, self.swapped),
            ..Interface::default()
        };
        for (code, value) in self.options(&block[16..]) {
            match (code, value) {
                (9, [code, ..]) => interface.resolution = Resolution::from_code(*code),
                (14, value) if value.len() == 8 => {
                    interface.offset_ns = (self.u64_of(value) as i64).wrapping_mul(1_000_000_000);
                }
                _ => {}
            }
        }
        if self.interfaces.len() < MAX_INTERFACES {
            interface.describe(info, self.interfaces.is_empty() && info.link_types.is_empty());
            self.interfaces.push(interface);
        }
    }

    fn statistics(&mut self, block: &[u8]) {
        let Some(header) = block.get(8..20) else { return };
        let id = u32_at(header, 0, self.swapped);
        let mut drops = 0u64;
        for (code, value) in self.options(&block[20..]) {
            // isb_ifdrop and isb_osdrop.
            if matches!(code, 5 | 7) && value.len() == 8 {
                drops = drops.saturating_add(self.u64_of(value));
            }
        }
        self.drop_on(id, |interface| interface.dropped = interface.dropped.max(drops));
    }

    /// Changes one interface's counts, and the sum with them.
    fn drop_on(&mut self, id: u32, change: impl FnOnce(&mut Interface)) {
        if let Some(interface) = self.interfaces.get_mut(id as usize) {
            let before = interface.drops();
            change(interface);
            self.dropped = self.dropped.saturating_add(interface.drops() - before);
        }
    }

    fn packet_options(&mut self, id: u32, data: &[u8]) {
        let mut drops = 0u64;
        for (code, value) in self.options(data) {
            if code == 4 && value.len() == 8 {
                drops = drops.saturating_add(self.u64_of(value));
            }
        }
        self.drop_on(id, |interface| interface.count_between(drops));
    }

    pub fn u64_of(&self, value: &[u8]) -> u64 {
        let (first, second) = (u32_at(value, 0, self.swapped), u32_at(value, 4, self.swapped));
        let (low, high) = if self.swapped { (second, first) } else { (first, second) };
        u64::from(high) << 32 | u64::from(low)
    }

    /// Options as (code, value) until the end mark, the end of the block, or nonsense.
    pub fn options<'a>(&self, data: &'a [u8]) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let swapped = self.swapped;
        let mut rest = &data[..data.len().min(MAX_OPTIONS)];
        std::iter::from_fn(move || {
            let header = rest.get(..4)?;
            let (code, length) = (u16_at(header, 0, swapped), usize::from(u16_at(header, 2, swapped)));
            let value = rest.get(4..4 + length).filter(|_| code != 0)?;
            rest = rest.get(4 + ((length + 3) & !3)..).unwrap_or_default();
            Some((code, value))
        })
    }

    /// Drops that packet blocks stated, to be added once the file has been read.
    pub fn drops(&self) -> u64 {
        self.dropped
    }
}

impl Interface {
    /// Both counts describe the same drops: the larger one is the more complete.
    fn drops(&self) -> u64 {
        self.dropped.max(self.dropped_between)
    }

    fn count_between(&mut self, drops: u64) {
        self.dropped_between = self.dropped_between.saturating_add(drops);
    }

    fn describe(&self, info: &mut SourceInfo, first: bool) {
        let new = !info.link_types.contains(&self.link_type);
        if new && info.link_types.len() < MAX_LINK_TYPES {
            info.link_types.push(self.link_type);
        }
        info.resolution_ns = info.resolution_ns.max(self.resolution.coarse_ns());
        info.snaplen = match (self.snaplen, info.snaplen, first) {
            (0, ..) => None,
            (n, None, true) => Some(n),
            (n, Some(m), _) => Some(n.max(m)),
            (_, None, false) => None,
        };
    }
}

/// Adds a section's comment on a line of its own, as far as there is room.
fn note(comment: &mut Option<String>, value: &[u8]) {
    let text = String::from_utf8_lossy(value);
    match comment {
        Some(comment) if comment.len() < MAX_COMMENT => {
            comment.push('\n');
            comment.push_str(&text);
        }
        Some(_) => {}
        None => *comment = Some(text.into_owned()),
    }
}
