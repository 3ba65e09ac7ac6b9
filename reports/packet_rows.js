// What each packet of a stretch shows in the packet chart.

const SEEN = ["new", "retransmitted", "out of order", "keep-alive", "seen twice", "stray"];
const CODEPOINTS = ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];
const FLAG_NAMES = [[1, "FIN"], [2, "SYN"], [4, "RST"], [8, "PSH"], [16, "ACK"], [32, "URG"]];
const SYN = 2, ECE = 64, CWR = 128;
const CODEPOINT_KINDS = ["not-ect", "ect1", "ect0", "ce"];
const CE = 3, RETRANSMITTED = 1, LATE = 2, TWICE = 4, STRAY = 5;
// What the columns of a stretch hold, as arrays to draw from: by place in the stretch.
function packetRows(data) {
  const rows = data.t.map((t, i) => ({
    t, i, frame: data.frame[i], out: data.out[i] === 1, seq: data.seq[i], len: data.len[i], ack: data.ack[i],
    ecn: data.ecn[i], flags: data.flags[i], window: data.window[i], seen: data.seen[i], sack: data.sack[data.frame[i]],
  }));
  rows.sort((a, b) => a.t - b.t || a.i - b.i);
  let ack = -Infinity, ace = null, sent = 0;
  for (const row of rows) {
    const counts = row.seen !== STRAY && row.seen !== TWICE;
    row.segment = counts && row.out && row.len > 0;
    row.acks = counts && !row.out && row.ack !== null;
    // Over UDP what a packet of the other direction reports is not read: it stands beside what was sent.
    row.back = data.udp && !row.out;
    row.kind = data.udp ? CODEPOINT_KINDS[row.ecn] : "segment";
    [row.low, row.high] = row.acks ? [row.ack, row.ack] : row.back ? [sent, sent] : [row.seq, row.seq + row.len];
    row.drawn = row.segment || row.acks || row.back;
    if (row.segment) sent = row.high;
    if (!row.acks) continue;
    row.newer = row.ack >= ack;
    ack = Math.max(ack, row.ack);
    // The client's ACK of the handshake has the SYN/ACK's codepoint in place of the counter.
    if (!data.accecn || row.flags & SYN || row.frame === data.handshake || !row.newer) continue;
    row.step = ace === null ? 0 : (aceOf(row) - ace) & 7;
    ace = aceOf(row);
  }
  return rows;
}

const aceOf = (row) => (row.flags >> 6) & 7;

// The marks of a packet besides its bar or its point on the line of ACKs.
function marksOf(row, accecn) {
  const marks = [];
  if (row.segment) {
    if (row.seen === RETRANSMITTED) marks.push("again");
    if (row.seen === LATE) marks.push("late");
    if (row.ecn === CE) marks.push("ce");
    if (!accecn && row.flags & CWR) marks.push("cwr");
  } else if (row.back) {
    marks.push("back");
  } else if (row.acks) {
    if (row.step > 0) marks.push("step");
    if (!accecn && row.flags & ECE && !(row.flags & SYN)) marks.push("ece");
  }
  return marks;
}

function firstAt(rows, t) {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].t < t) low = middle + 1; else high = middle;
  }
  return low;
}
