// Packets of a chart put together as far as its pixels do: a run of 130,000 moves smoothly with all of it in view.

const COLUMNS = [4096, 16384]; // of the whole chart, from coarse to fine

// What a view is drawn from: the coarsest that has two columns a pixel, prepared once, else the packets themselves.
class Detail {
  constructor(rows, [from, to]) {
    this.rows = rows;
    this.from = from;
    this.span = to - from;
    this.prepared = new Map();
  }

  of([from, to], pixels) {
    const share = (to - from) / this.span;
    const columns = COLUMNS.find((n) => n * share >= 2 * pixels && this.rows.length > 2 * n);
    if (!columns) return this.rows;
    if (!this.prepared.has(columns)) this.prepared.set(columns, this.together(columns));
    return this.prepared.get(columns);
  }

  // Of each column: segments that follow on each other as one, the last ACK, one SACK, and of marks that would cover
  // each other one.
  together(columns) {
    const found = [];
    const step = heightOf(this.rows) / columns;
    let [column, segment, ack, sack] = [-1, null, null, false];
    const places = new Set();
    for (const row of this.rows) {
      const at = Math.floor(((row.t - this.from) / this.span) * columns);
      if (at !== column) {
        if (ack) found.push(part(ack));
        [column, segment, ack, sack] = [at, null, null, false];
        places.clear();
      }
      if (row.segment) {
        if (segment && segment.kind === row.kind && segment.high === row.low) segment.high = row.high;
        else found.push(segment = part(row));
      }
      if (row.acks && row.newer) ack = row;
      if (row.sack && !row.out && !sack) {
        sack = true;
        found.push({ t: row.t, sack: row.sack, out: false, marks: NO_MARKS });
      }
      if (!row.marks.length) continue;
      const height = Math.round((row.low + row.high) / 2 / step);
      const marks = row.marks.filter((mark) => !places.has(`${mark} ${height}`));
      if (!marks.length) continue;
      for (const mark of marks) places.add(`${mark} ${height}`);
      found.push({ t: row.t, low: row.low, high: row.high, step: row.step, drawn: row.drawn, marks });
    }
    if (ack) found.push(part(ack));
    return found.sort((a, b) => a.t - b.t);
  }
}

// A packet without its marks and SACK, which stand for themselves.
const part = ({ t, low, high, segment, acks, newer, kind, drawn, ack, window }) =>
  ({ t, low, high, segment, acks, newer, kind, drawn, ack, window, marks: NO_MARKS });

function heightOf(rows) {
  let [low, high] = [Infinity, -Infinity];
  for (const row of rows) {
    if (!row.drawn) continue;
    low = Math.min(low, row.low);
    high = Math.max(high, row.high);
  }
  return high > low ? high - low : 1;
}
