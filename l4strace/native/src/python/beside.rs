//! Flows over UDP from Python: their directions, and what each sent over time.

use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use pyo3::prelude::*;

use super::given::Given;
use super::measure::keys;
use crate::measure::beside::{Datagrams, Sent};
use crate::measure::rounds::{numbered, Key, Limit};

/// The directions over UDP in `senders`, with what each sent.
pub fn datagrams(sent: &Given, senders: &Given) -> PyResult<Vec<Datagrams>> {
    let known: Vec<Key> = keys(senders)?.collect();
    let at = senders.whole::<UInt32Type>("at")?;
    let mut found: Vec<Datagrams> = known
        .iter()
        .zip(0..)
        .map(|(key, of)| Datagrams { key: *key, at: at.or_zero(of), sent: Vec::new() })
        .collect();
    let (start_ns, end_ns) = (sent.whole::<Int64Type>("start_ns")?, sent.whole::<Int64Type>("end_ns")?);
    let packets = sent.whole::<UInt32Type>("sent_packets")?;
    let bytes = sent.whole::<UInt64Type>("sent_bytes")?;
    let limits = sent.texts("limited_by")?.map(Limit::named);
    for (row, (of, limit)) in numbered(&known, keys(sent)?).zip(limits).enumerate() {
        let Some(of) = of else { continue };
        found[of as usize].sent.push(Sent {
            start_ns: start_ns.or_zero(row),
            end_ns: end_ns.or_zero(row),
            packets: packets.or_zero(row),
            bytes: bytes.or_zero(row),
            limit,
        });
    }
    found.iter_mut().for_each(|one| one.sent.sort_by_key(|sent| sent.start_ns));
    Ok(found)
}
