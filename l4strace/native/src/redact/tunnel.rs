//! Tunnels that carry IP, as `decode::tunnel` knows them; what they state beside that is blanked.

use super::link::{self, be16};
use super::{after, checksum, ip, wireless, Frame};
use crate::decode::tunnel::{erspan_3_header, is_tzsp, tzsp_tag, Tagged, ERSPAN, ERSPAN_3};

const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const GENEVE_PORT: u16 = 6081;
const GTP_U_PORT: u16 = 2152;
const TZSP_PORT: u16 = 37008;

/// The checksum becomes "none" (RFC 768): the payload is gone.
pub fn udp(frame: &mut Frame, data: &[u8], length: u32) -> Option<()> {
    let header = data.first_chunk::<8>()?;
    frame.put(&header[..6]);
    frame.put(&[0; 2]);
    let (rest, length) = after(data, length, 8)?;
    match be16(header, 2) {
        GENEVE_PORT => geneve(frame, rest, length),
        GTP_U_PORT => gtp_u(frame, rest, length),
        TZSP_PORT => tzsp(frame, rest, length),
        port if VXLAN_PORTS.contains(&port) => vxlan(frame, rest, length),
        _ => None,
    }
}

fn vxlan(frame: &mut Frame, data: &[u8], length: u32) -> Option<()> {
    let header = data.first_chunk::<8>()?;
    if header[0] & 0x08 == 0 {
        frame.put(&[0; 8]);
        return None;
    }
    frame.put(&[0x08, 0, 0, 0, header[4], header[5], header[6], 0]);
    let (rest, length) = after(data, length, 8)?;
    link::ethernet(frame, rest, length)
}

fn geneve(frame: &mut Frame, data: &[u8], length: u32) -> Option<()> {
    let header = data.first_chunk::<8>()?;
    if header[0] >> 6 != 0 {
        frame.put(&[0xc0, 0, 0, 0, 0, 0, 0, 0]);
        return None;
    }
    let size = 8 + usize::from(header[0] & 0x3f) * 4;
    frame.put(&[header[0], 0, header[2], header[3], header[4], header[5], header[6], 0]);
    // Zero is an option without data.
    frame.blank(&data[8..], size - 8);
    let (rest, length) = after(data, length, size)?;
    payload(frame, be16(header, 2), rest, length)
}

fn gtp_u(frame: &mut Frame, data: &[u8], length: u32) -> Option<()> {
    let header = data.first_chunk::<8>()?;
    let flags = header[0];
    if flags >> 5 != 1 || flags & 0x10 == 0 || header[1] != 255 {
        frame.put(&[0; 8]);
        return None;
    }
    frame.put(header);
    let (mut data, mut length) = after(data, length, 8)?;
    if flags & 0x07 != 0 {
        let more = data.first_chunk::<4>()?;
        let mut next = if flags & 0x04 == 0 { 0 } else { more[3] };
        frame.put(&[0, 0, 0, next]);
        (data, length) = after(data, length, 4)?;
        while next != 0 {
            frame.enter()?;
            let size = usize::from(*data.first()?) * 4;
            frame.put(&data[..1]);
            next = *data.get(size.checked_sub(1)?)?;
            frame.blank(data, size - 2);
            frame.put(&[next]);
            (data, length) = after(data, length, size)?;
        }
    }
    ip::any(frame, data, length)
}

pub fn gre(frame: &mut Frame, data: &[u8], length: u32) -> Option<()> {
    let header = data.first_chunk::<4>()?;
    let flags = be16(header, 0);
    let present = |bit: u16| usize::from(flags & bit != 0) * 4;
    let (key, sequence) = (present(0x2000), present(0x1000));
    let start = frame.out.len();
    frame.put(header);
    match flags & 7 {
        0 if flags & 0x4000 == 0 => {
            let sum = present(0x8000);
            let size = 4 + sum + key + sequence;
            frame.blank(&data[4..], sum);
            frame.put(data.get(4 + sum..size)?);
            let (rest, length) = after(data, length, size)?;
            let walked = match be16(header, 2) {
                ERSPAN => erspan(frame, if sequence > 0 { 8 } else { 0 }, rest, length),
                ERSPAN_3 => erspan_3(frame, rest, length),
                kind => payload(frame, kind, rest, length),
            };
            if sum > 0 {
                let value = checksum::finish(checksum::sum(0, &frame.out[start..]));
                frame.out[start + 4..start + 6].copy_from_slice(&value);
            }
            walked
        }
        1 if be16(header, 2) == 0x880b => {
            let size = 4 + key + sequence + present(0x0080);
            frame.put(data.get(4..size)?);
            let (rest, length) = after(data, length, size)?;
            link::ppp(frame, rest, length)
        }
        _ => None,
    }
}

/// The header names a session and a port of the switch.
fn erspan(frame: &mut Frame, size: usize, data: &[u8], length: u32) -> Option<()> {
    frame.blank(data, size);
    let (rest, length) = after(data, length, size)?;
    link::ethernet(frame, rest, length)
}

fn erspan_3(frame: &mut Frame, data: &[u8], length: u32) -> Option<()> {
    let header = data.first_chunk::<12>()?;
    let (size, kind) = erspan_3_header(header);
    frame.put(&[0; 10]);
    // The kind of frame, and whether more of the header follows.
    frame.put(&[header[10] & 0x7c, header[11] & 1]);
    frame.blank(&data[12..], size - 12);
    let (rest, length) = after(data, length, size)?;
    match kind {
        0 => link::ethernet(frame, rest, length),
        2 => ip::any(frame, rest, length),
        _ => None,
    }
}

/// Tags tell when, where and by whom a packet was received.
fn tzsp(frame: &mut Frame, data: &[u8], length: u32) -> Option<()> {
    let header = data.first_chunk::<4>()?;
    if !is_tzsp(header) {
        frame.put(&[0xff, 0xff, 0, 0]);
        return None;
    }
    frame.put(header);
    let (mut data, mut length) = after(data, length, 4)?;
    loop {
        let tag = tzsp_tag(data)?;
        let size = if let Tagged::Other(size) = tag { size } else { 1 };
        // Padding has no length, so that as much of it says nothing at all.
        frame.blank(data, if tag == Tagged::End { 0 } else { size });
        (data, length) = after(data, length, size)?;
        if tag == Tagged::End {
            frame.put(&[1]);
            break;
        }
    }
    match be16(header, 2) {
        1 => link::ethernet(frame, data, length),
        18 => wireless::ieee802_11(frame, data, length),
        _ => None,
    }
}

/// By an EtherType; a length would be no IP.
pub fn payload(frame: &mut Frame, kind: u16, data: &[u8], length: u32) -> Option<()> {
    (kind > 1500).then_some(())?;
    link::ethertype(frame, kind, data, length)
}
