// What each packet of a stretch shows in the packet chart.

const SEEN = ["new", "retransmitted", "out of order", "keep-alive", "seen twice", "stray"];
const CODEPOINTS = ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];
const FLAG_NAMES = [[1, "FIN"], [2, "SYN"], [4, "RST"], [8, "PSH"], [16, "ACK"], [32, "URG"]];
const SYN = 2, ECE = 64, CWR = 128;
const CE = 3, RETRANSMITTED = 1, LATE = 2, TWICE = 4, STRAY = 5;
// What the columns of a stretch hold, as arrays to draw from: by place in the stretch.
function packetRows(data) {
  if (data.udp) return datagramRows(data);
  const rows = data.t.map((t, i) => ({
    t, i, frame: data.frame[i], out: data.out[i] === 1, seq: data.seq[i], len: data.len[i], ack: data.ack[i],
    ecn: data.ecn[i], flags: data.flags[i], window: data.window[i], seen: data.seen[i], sack: data.sack[data.frame[i]],
  }));
  rows.sort((a, b) => a.t - b.t || a.i - b.i);
  let ack = -Infinity, ace = null;
  for (const row of rows) {
    const counts = row.seen !== STRAY && row.seen !== TWICE;
    row.segment = counts && row.out && row.len > 0;
    row.acks = counts && !row.out && row.ack !== null;
    row.kind = "segment";
    [row.low, row.high] = row.acks ? [row.ack, row.ack] : [row.seq, row.seq + row.len];
    row.drawn = row.segment || row.acks;
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
function marksOf(row, data) {
  if (data.udp) return datagramMarks(row);
  const marks = [];
  if (row.segment) {
    if (row.seen === RETRANSMITTED) marks.push("again");
    if (row.seen === LATE) marks.push("late");
    if (row.ecn === CE) marks.push("ce");
    if (!data.accecn && row.flags & CWR) marks.push("cwr");
  } else if (row.acks) {
    if (row.step > 0) marks.push("step");
    if (!data.accecn && row.flags & ECE && !(row.flags & SYN)) marks.push("ece");
  }
  return marks;
}

const wholeNumber = (n) => Math.round(n).toLocaleString("en-US");

// A packet in words, with the filter that finds it.
function nameOf(row, data) {
  const facts = [`frame ${row.frame}`, `t=${(data.start + row.t / 1e9).toFixed(6)} s`, ...(data.udp ? datagramFacts(row, data) : segmentFacts(row, data))];
  return `${facts.join(" · ")} · frame.number == ${row.frame}`;
}

function segmentFacts(row, data) {
  const { base } = data;
  const names = FLAG_NAMES.filter(([bit]) => row.flags & bit).map(([, name]) => name);
  const ecn = data.accecn && !(row.flags & SYN) ? [`ACE ${aceOf(row)}`] : [[256, "AE"], [128, "CWR"], [64, "ECE"]].filter(([bit]) => row.flags & bit).map(([, name]) => name);
  const seq = row.seq + (row.out ? base : 0);
  const facts = [row.out ? "data direction" : "ACK direction", `seq ${wholeNumber(seq)}`];
  if (row.len) facts.push(`to ${wholeNumber(seq + row.len)} (${wholeNumber(row.len)} bytes)`);
  if (row.ack !== null) facts.push(`ack ${wholeNumber(row.ack + (row.out ? 0 : base))}`);
  facts.push(CODEPOINTS[row.ecn], [...names, ...ecn].join(" "));
  if (row.step) facts.push(`ACE step ${row.step}`);
  if (row.window !== null) facts.push(`window ${wholeNumber(row.window)}`);
  if (row.sack) facts.push(`SACK ${row.sack.map((edge) => wholeNumber(edge + base)).join(" ")}`);
  if (row.seen !== null) facts.push(SEEN[row.seen]);
  return facts;
}

function firstAt(rows, t) {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].t < t) low = middle + 1; else high = middle;
  }
  return low;
}
