// What each datagram of a stretch shows in the packet chart: data by its number, beside it what returns.

const CODEPOINT_KINDS = ["not-ect", "ect1", "ect0", "ce"];

class Datagram extends Packet {
  get window() { return null; }
  get segment() { return this.out && this.seq !== null; }
  get acks() { return !this.out && this.ack !== null; }
  get back() { return !this.segment && !this.acks; }
  get kind() { return CODEPOINT_KINDS[this.ecn]; }
  get late() { return this.data.numbered && this.segment && !this.newer; }
  // Where numbers are encrypted what returns stands beside what was sent last.
  get low() { return this.acks ? this.ack : this.back ? this.data.sent[this.i] : this.seq; }
  get high() { return this.segment ? this.seq + 1 : this.low; }
  get drawn() { return true; }

  get marks() {
    const marks = [];
    if (this.late) marks.push("late");
    if (this.segment && this.ecn === CE) marks.push("ce");
    if (this.back) marks.push("back");
    if (this.step > 0) marks.push("reported");
    return marks.length ? marks : NO_MARKS;
  }

  // Which numbers and reports are new, and what was sent before each packet.
  static follow(rows, data) {
    data.newer = data.t.map(() => 0);
    data.sent = [];
    let reported = -Infinity, sent = data.seq.find((n) => n !== null) ?? 0, highest = -Infinity;
    for (const row of rows) {
      if (row.segment) {
        data.newer[row.i] = row.seq >= highest ? 1 : 0;
        highest = Math.max(highest, row.seq);
        sent = row.high;
      } else if (row.acks) {
        data.newer[row.i] = row.ack >= reported ? 1 : 0;
        reported = Math.max(reported, row.ack);
      }
      data.sent[row.i] = sent;
    }
  }
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
