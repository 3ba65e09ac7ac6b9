// What each datagram of a stretch shows in the packet chart: data by its number, beside it what returns.

const CODEPOINT_KINDS = ["not-ect", "ect1", "ect0", "ce"];

// As packetRows; where numbers are encrypted what returns stands beside what was sent last.
function datagramRows(data) {
  const rows = data.t.map((t, i) => ({
    t, i, frame: data.frame[i], out: data.out[i] === 1, seq: data.seq[i], len: data.len[i], ack: data.ack[i],
    ecn: data.ecn[i], step: data.step[i] ?? 0, window: null,
  }));
  rows.sort((a, b) => a.t - b.t || a.i - b.i);
  let reported = -Infinity, sent = data.seq.find((n) => n !== null) ?? 0, highest = -Infinity;
  for (const row of rows) {
    row.segment = row.out && row.seq !== null;
    row.acks = !row.out && row.ack !== null;
    row.back = !row.segment && !row.acks;
    row.kind = CODEPOINT_KINDS[row.ecn];
    row.late = data.numbered && row.segment && row.seq < highest;
    [row.low, row.high] = row.acks ? [row.ack, row.ack] : row.back ? [sent, sent] : [row.seq, row.seq + 1];
    row.drawn = true;
    if (row.segment) { sent = row.high; highest = Math.max(highest, row.seq); }
    if (!row.acks) continue;
    row.newer = row.ack >= reported;
    reported = Math.max(reported, row.ack);
  }
  return rows;
}

function datagramMarks(row) {
  const marks = [];
  if (row.segment && row.late) marks.push("late");
  if (row.segment && row.ecn === CE) marks.push("ce");
  if (row.back) marks.push("back");
  if (row.step > 0) marks.push("reported");
  return marks;
}

function datagramFacts(row, data) {
  const facts = [row.out ? "data direction" : "other direction"];
  if (row.segment) facts.push(data.numbered ? `packet number ${wholeNumber(row.seq)}` : `packet ${wholeNumber(row.seq + 1)} of those drawn`);
  facts.push(`${wholeNumber(row.len)} bytes`, CODEPOINTS[row.ecn]);
  if (row.late) facts.push("out of order");
  if (row.acks) facts.push(`reports up to ${wholeNumber(row.ack - 1)}`);
  if (row.step) facts.push(`${wholeNumber(row.step)} more CE reported`);
  return facts;
}
