// What each packet of a stretch shows in the packet chart.

const SEEN = ["new", "retransmitted", "out of order", "keep-alive", "seen twice", "stray"];
const CODEPOINTS = ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];
const FLAG_NAMES = [[1, "FIN"], [2, "SYN"], [4, "RST"], [8, "PSH"], [16, "ACK"], [32, "URG"]];
const SYN = 2, ECE = 64, CWR = 128;
const CE = 3, RETRANSMITTED = 1, LATE = 2, TWICE = 4, STRAY = 5;
const NO_MARKS = [];

// What the columns of a stretch hold, as rows to draw from, in the order of time.
function packetRows(data) {
  for (const name of ["t", "frame", "seq", "ack", "window"]) addUp(data[name], data.out);
  const Row = data.udp ? Datagram : Segment;
  const rows = Array.from(data.t, (_, i) => new Row(data, i));
  rows.sort((a, b) => a.t - b.t || a.i - b.i);
  Row.follow(rows, data);
  return rows;
}

// Turns a column of steps into numbers: each direction counts for itself.
function addUp(column, out) {
  const now = [0, 0];
  column?.forEach((step, i) => { if (step !== null) column[i] = now[out[i]] += step; });
}

// A packet as its place in the columns: an object with all its fields, a hundred thousand times, costs more than to
// look them up.
class Packet {
  constructor(data, i) {
    this.data = data;
    this.i = i;
  }

  get t() { return this.data.t[this.i]; }
  get frame() { return this.data.frame[this.i]; }
  get out() { return this.data.out[this.i] === 1; }
  get seq() { return this.data.seq[this.i]; }
  get len() { return this.data.len[this.i]; }
  get ack() { return this.data.ack[this.i]; }
  get ecn() { return this.data.ecn[this.i]; }
  get step() { return this.data.step[this.i] ?? 0; }
  get newer() { return this.data.newer[this.i] === 1; }
}

class Segment extends Packet {
  get flags() { return this.data.flags[this.i]; }
  get window() { return this.data.window[this.i]; }
  get seen() { return this.data.seen[this.i]; }
  get sack() { return this.data.blocks.get(this.frame); }
  get counts() { return this.seen !== STRAY && this.seen !== TWICE; }
  get segment() { return this.out && this.len > 0 && this.counts; }
  get acks() { return !this.out && this.ack !== null && this.counts; }
  get kind() { return "segment"; }
  get low() { return this.acks ? this.ack : this.seq; }
  get high() { return this.acks ? this.ack : this.seq + this.len; }
  get drawn() { return this.segment || this.acks; }
  get ace() { return (this.flags >> 6) & 7; }

  // The marks of a packet besides its bar or its point on the line of ACKs.
  get marks() {
    const { accecn } = this.data;
    const marks = [];
    if (this.segment) {
      if (this.seen === RETRANSMITTED) marks.push("again");
      if (this.seen === LATE) marks.push("late");
      if (this.ecn === CE) marks.push("ce");
      if (!accecn && this.flags & CWR) marks.push("cwr");
    } else if (this.acks) {
      if (this.step > 0) marks.push("step");
      if (!accecn && this.flags & ECE && !(this.flags & SYN)) marks.push("ece");
    }
    return marks.length ? marks : NO_MARKS;
  }

  // Which acknowledgements are new, and how far ACE went with them.
  static follow(rows, data) {
    data.newer = data.t.map(() => 0);
    data.step = data.t.map(() => 0);
    data.blocks = new Map(Object.entries(data.sack).map(([frame, edges]) => [Number(frame), edges]));
    let high = -Infinity, before = null;
    for (const row of rows) {
      const { ack, i, ace } = row;
      if (!row.acks || ack < high) continue;
      data.newer[i] = 1;
      high = ack;
      // The client's ACK of the handshake has the SYN/ACK's codepoint in place of the counter.
      if (!data.accecn || row.flags & SYN || row.frame === data.handshake) continue;
      if (before !== null) data.step[i] = (ace - before) & 7;
      before = ace;
    }
  }
}

// As toLocaleString, whose first call takes as long as ten thousand packets.
const wholeNumber = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");

// A packet in words, with the filter that finds it.
function nameOf(row, data) {
  const facts = [`frame ${row.frame}`, `t=${(data.start + row.t / 1e9).toFixed(6)} s`, ...(data.udp ? datagramFacts(row, data) : segmentFacts(row, data))];
  return `${facts.join(" · ")} · frame.number == ${row.frame}`;
}

function segmentFacts(row, data) {
  const { base } = data;
  const names = FLAG_NAMES.filter(([bit]) => row.flags & bit).map(([, name]) => name);
  const ecn = data.accecn && !(row.flags & SYN) ? [`ACE ${row.ace}`] : [[256, "AE"], [128, "CWR"], [64, "ECE"]].filter(([bit]) => row.flags & bit).map(([, name]) => name);
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
