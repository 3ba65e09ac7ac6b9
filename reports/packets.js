// The packet chart: time and sequence of one direction, on a canvas that is made when its place is opened.

const MARGIN = { left: 64, right: 12, top: 22, bottom: 34 };
const LEAST_NS = 1000; // the narrowest window: a microsecond
const MARKS = {
  segment: ["--measured", "segment", "▏"],
  "not-ect": ["--not-ect", "Not-ECT", "▏"],
  ect1: ["--ect1", "ECT(1)", "▏"],
  ect0: ["--ect0", "ECT(0)", "▏"],
  again: ["--loss", "retransmission", "×"],
  late: ["--recorded", "out of order", "◇"],
  ce: ["--ce", "CE", "●"],
  ack: ["--ect0", "acknowledged", "―"],
  sack: ["--second", "SACK", "┆"],
  window: ["--not-ect", "receive window", "╌"],
  step: ["--ce", "ACE step", "▲"],
  reported: ["--ce", "CE reported", "▲"],
  ece: ["--ce", "ECE", "▲"],
  cwr: ["--ink", "CWR", "▼"],
  back: ["--second", "packet of the other direction", "·"],
  moment: ["--error", "finding", "┊"],
};

const KINDS = Object.keys(MARKS);

class PacketChart {
  constructor(box, data, moment) {
    this.data = data;
    this.rows = packetRows(data);
    const [first, last] = [this.rows[0].t, this.rows.at(-1).t];
    const room = Math.max((last - first) * 0.01, LEAST_NS);
    this.full = [first - room, last + room];
    this.shown = [...this.full];
    this.moment = moment;
    this.detail = new Detail(this.rows, this.full);
    this.build(box);
    this.choose(this.rows.findIndex((row) => row.t >= moment));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  build(box) {
    box.textContent = "";
    const bar = box.appendChild(document.createElement("p"));
    bar.className = "zoom";
    for (const [name, label] of [["earlier", "← earlier"], ["later", "later →"], ["in", "zoom in"], ["out", "zoom out"], ["whole", "whole stretch"]]) {
      const button = bar.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = label;
      button.addEventListener("click", () => this.step(name));
    }
    bar.append(" Drag to move, Ctrl and wheel to zoom, click a packet to name it.");
    this.canvas = box.appendChild(document.createElement("canvas"));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `Time and sequence of ${this.rows.length} packets. Arrows up and down name one packet after another.`);
    this.legend = box.appendChild(document.createElement("p"));
    this.legend.className = "legend";
    this.says = box.appendChild(document.createElement("p"));
    this.says.className = "says";
    this.says.setAttribute("aria-live", "polite");
    this.label();
    this.wire();
  }

  label() {
    const kinds = new Set();
    for (const row of this.rows) {
      for (const mark of row.marks) kinds.add(mark);
      if (row.segment) kinds.add(row.kind);
      if (row.acks) kinds.add("ack");
      if (row.acks && row.window !== null) kinds.add("window");
      if (row.sack) kinds.add("sack");
    }
    if (this.data.moments.length) kinds.add("moment");
    for (const [kind, [name, text, sign]] of Object.entries(MARKS)) {
      if (!kinds.has(kind)) continue;
      const item = this.legend.appendChild(document.createElement("span"));
      const mark = item.appendChild(document.createElement("i"));
      mark.style.color = `var(${name})`;
      mark.textContent = sign;
      item.append(` ${text}`);
    }
  }

  wire() {
    const { canvas } = this;
    let from = null;
    canvas.addEventListener("pointerdown", (event) => { from = { x: event.offsetX, shown: [...this.shown], moved: false }; });
    canvas.addEventListener("pointermove", (event) => {
      if (!from || !event.buttons) return;
      from.moved ||= Math.abs(event.offsetX - from.x) > 3;
      if (!from.moved) return;
      canvas.setPointerCapture(event.pointerId);
      const shift = ((from.x - event.offsetX) / this.wide) * (from.shown[1] - from.shown[0]);
      this.show(from.shown.map((t) => t + shift));
    });
    canvas.addEventListener("pointerup", (event) => {
      if (from && !from.moved) this.choose(this.nearest(event.offsetX, event.offsetY));
      from = null;
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.scale(event.deltaY < 0 ? 0.8 : 1.25, this.time(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const name = { "+": "in", "=": "in", "-": "out", ArrowLeft: "earlier", ArrowRight: "later", 0: "whole", Escape: "whole" }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || !(by || name)) return;
      event.preventDefault();
      if (by) this.choose(Math.min(Math.max(this.chosen + by, 0), this.rows.length - 1)); else this.step(name);
    });
  }

  step(name) {
    const width = this.shown[1] - this.shown[0];
    if (name === "whole") this.show([...this.full]);
    else if (name === "in" || name === "out") this.scale(name === "in" ? 0.5 : 2, this.middle());
    else this.show(this.shown.map((t) => t + (name === "later" ? 0.25 : -0.25) * width));
  }

  // Zooms about the chosen packet where it is in view, else about the middle.
  middle() {
    const t = this.rows[this.chosen]?.t ?? -Infinity;
    return t >= this.shown[0] && t <= this.shown[1] ? t : (this.shown[0] + this.shown[1]) / 2;
  }

  scale(factor, about) {
    this.show(this.shown.map((t) => about + (t - about) * factor));
  }

  show([from, to]) {
    const width = Math.min(Math.max(to - from, LEAST_NS), this.full[1] - this.full[0]);
    const start = Math.min(Math.max(from, this.full[0]), this.full[1] - width);
    this.shown = [start, start + width];
    this.pending ??= requestAnimationFrame(() => { this.pending = null; this.draw(); });
  }

  choose(at) {
    if (at < 0) return;
    this.chosen = at;
    const { t } = this.rows[at];
    const half = (this.shown[1] - this.shown[0]) / 2;
    if (t < this.shown[0] || t > this.shown[1]) this.show([t - half, t + half]);
    this.says.textContent = nameOf(this.rows[at], this.data);
    this.canvas.dataset.frame = this.rows[at].frame;
    this.draw();
  }

  // Looked up once a drawing: a look at the size of an element costs more than the arithmetic of a packet.
  measure() {
    const { clientWidth, clientHeight } = this.canvas;
    this.wide = clientWidth - MARGIN.left - MARGIN.right;
    this.tall = clientHeight - MARGIN.top - MARGIN.bottom;
    return [clientWidth, clientHeight];
  }

  time(x) { return this.shown[0] + ((x - MARGIN.left) / this.wide) * (this.shown[1] - this.shown[0]); }
  x(t) { return MARGIN.left + ((t - this.shown[0]) / (this.shown[1] - this.shown[0])) * this.wide; }
  y(n) { return MARGIN.top + (1 - (n - this.low) / (this.high - this.low)) * this.tall; }

  // The packet whose bar or point is closest.
  nearest(x, y) {
    let [best, least] = [-1, Infinity];
    for (let i = firstAt(this.rows, this.shown[0]); i < this.rows.length && this.rows[i].t <= this.shown[1]; i++) {
      const row = this.rows[i];
      if (!row.drawn) continue;
      const [top, bottom] = [this.y(row.high), this.y(row.low)];
      const away = Math.hypot(this.x(row.t) - x, Math.max(top - y, y - bottom, 0));
      if (away < least) [best, least] = [i, away];
    }
    return best;
  }

  draw() {
    const { canvas } = this;
    const ratio = printing ? 2 : devicePixelRatio || 1;
    const [width, height] = this.measure();
    if (!width) return;
    const pen = canvas.getContext("2d");
    // A new size is new memory: not for each frame.
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    // Looked up once a drawing: the theme is asked for each colour.
    this.paints = Object.fromEntries(KINDS.map((kind) => [kind, colour(MARKS[kind][0])]));
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const rows = this.detail.of(this.shown, this.wide);
    const seen = rows.slice(Math.max(firstAt(rows, this.shown[0]) - 1, 0), firstAt(rows, this.shown[1]) + 1);
    this.fit(seen);
    this.axes(pen, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, MARGIN.top, this.wide, height - MARGIN.top - MARGIN.bottom);
    pen.clip();
    this.moments(pen, height);
    this.lines(pen, seen);
    this.segments(pen, seen);
    this.marks(pen, seen);
    this.ring(pen);
    pen.restore();
  }

  // The window may lie far above the data: it is drawn where it is in view, and fits nothing.
  fit(seen) {
    [this.low, this.high] = [Infinity, -Infinity];
    for (const row of seen) {
      if (!row.drawn) continue;
      if (row.low < this.low) this.low = row.low;
      if (row.high > this.high) this.high = row.high;
    }
    if (!(this.high > this.low)) [this.low, this.high] = [Number.isFinite(this.low) ? this.low - 1 : 0, Number.isFinite(this.high) ? this.high + 1 : 1];
    const room = (this.high - this.low) * 0.05;
    [this.low, this.high] = [this.low - room, this.high + room];
  }

  axes(pen, width, height) {
    pen.fillStyle = colour("--text");
    pen.strokeStyle = colour("--grid");
    pen.lineWidth = 1;
    const ticks = (from, to, most) => {
      const rough = (to - from) / most;
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = power * [1, 2, 5, 10].find((nice) => nice * power >= rough);
      return Array.from({ length: Math.floor(to / step) - Math.ceil(from / step) + 1 }, (_, i) => [(Math.ceil(from / step) + i) * step, step]);
    };
    const [from, to] = this.shown.map((t) => this.data.start + t / 1e9);
    pen.textAlign = "center";
    for (const [second, step] of ticks(from, to, Math.max(3, width / 130))) {
      const x = this.x((second - this.data.start) * 1e9);
      pen.strokeRect(x, MARGIN.top, 0, this.tall);
      pen.fillText(second.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))), x, height - MARGIN.bottom + 15);
    }
    pen.fillText("seconds since the first packet", MARGIN.left + this.wide / 2, height - 4);
    pen.textAlign = "right";
    const [size, title] = this.unit();
    for (const [n, step] of ticks(this.low / size, this.high / size, 6)) {
      if (this.data.udp && step < 1 && n % 1) continue;
      const y = this.y(n * size);
      pen.strokeRect(MARGIN.left, y, this.wide, 0);
      pen.fillText(this.data.udp ? wholeNumber(n) : n.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))), MARGIN.left - 6, y + 4);
    }
    pen.textAlign = "left";
    pen.fillText(title, 6, 13);
  }

  // Of the vertical axis: what one of it is in numbers of the data, and its title.
  unit() {
    if (this.data.udp) return [1, this.data.numbered ? "packet number" : "packets sent, in their order"];
    const [size, name] = this.high - this.low > 2e6 ? [1e6, "MB"] : [1e3, "kB"];
    return [size, `sequence, ${name} since byte ${wholeNumber(this.data.base)}`];
  }

  moments(pen, height) {
    pen.setLineDash([4, 4]);
    pen.strokeStyle = colour("--error");
    for (const t of this.data.moments) pen.strokeRect(this.x(t), MARGIN.top, 0, height);
    pen.setLineDash([]);
  }

  // Acknowledged bytes and receive window as steps, SACK as bars.
  lines(pen, seen) {
    const acks = seen.filter((row) => row.acks && row.newer);
    const stairs = (name, value, dash) => {
      pen.strokeStyle = colour(name);
      pen.setLineDash(dash);
      pen.beginPath();
      let [before, lastX] = [null, -1];
      for (const row of acks) {
        const at = value(row);
        if (at === null) continue;
        const [x, y] = [this.x(row.t), this.y(at)];
        if (before === null) pen.moveTo(x, y);
        // Of a column of pixels its last value shows: a line with as many corners as ACKs takes a second.
        if (x - lastX >= 1) {
          if (before !== null) { pen.lineTo(x, before); pen.lineTo(x, y); }
          lastX = x;
        }
        before = y;
      }
      pen.stroke();
      pen.setLineDash([]);
    };
    pen.lineWidth = 1.5;
    stairs("--not-ect", (row) => (row.window === null ? null : row.ack + row.window), [5, 4]);
    stairs("--ect0", (row) => row.ack, []);
    pen.fillStyle = colour("--second");
    let column = -1;
    for (const row of seen) {
      if (!row.sack || row.out || this.x(row.t) - column < 0.5) continue;
      column = this.x(row.t);
      for (let i = 0; i < row.sack.length; i += 2) this.bar(pen, row.t, row.sack[i], row.sack[i + 1], 1);
    }
  }

  bar(pen, t, from, to, width) {
    const top = this.y(to);
    pen.fillRect(this.x(t) - width / 2, top, width, Math.max(this.y(from) - top, 2));
  }

  // Segments that share a column of pixels and follow on each other are one bar.
  segments(pen, seen) {
    const width = Math.min(4, Math.max(1.5, this.wide / (seen.length || 1) / 2));
    let held = null;
    for (const row of seen) {
      if (!row.segment) continue;
      if (held && row.kind === held.kind && row.low === held.end && this.x(row.t) - this.x(held.t) < 0.5) { held.end = row.high; continue; }
      if (held) this.segment(pen, held, width);
      held = { t: row.t, from: row.low, end: row.high, kind: row.kind };
    }
    if (held) this.segment(pen, held, width);
  }

  segment(pen, { t, from, end, kind }, width) {
    pen.fillStyle = this.paints[kind];
    this.bar(pen, t, from, end, width);
  }

  marks(pen, seen) {
    const taken = new Set();
    pen.lineWidth = 1.5;
    for (const row of seen) {
      if (!row.marks.length) continue;
      for (const mark of row.marks) {
        const x = this.x(row.t);
        const y = this.y((row.low + row.high) / 2);
        const place = (Math.round(x) * 4096 + Math.round(y / 2)) * 16 + KINDS.indexOf(mark);
        if (taken.has(place)) continue;
        taken.add(place);
        pen.fillStyle = pen.strokeStyle = this.paints[mark];
        this.sign(pen, mark, x, y, row);
      }
    }
  }

  sign(pen, mark, x, y, row) {
    pen.beginPath();
    const corners = (...points) => points.forEach(([dx, dy], i) => pen[i ? "lineTo" : "moveTo"](x + dx, y + dy));
    if (mark === "ce") pen.arc(x, y, 3.5, 0, 7);
    else if (mark === "back") pen.arc(x, y + 6, 1.5, 0, 7);
    else if (mark === "again") { corners([-4, -4], [4, 4]); corners([-4, 4], [4, -4]); return pen.stroke(); }
    else if (mark === "late") { corners([0, -5], [5, 0], [0, 5], [-5, 0]); pen.closePath(); return pen.stroke(); }
    else if (mark === "cwr") corners([-4, -10], [4, -10], [0, -4]);
    else corners([-4, 10], [4, 10], [0, 3]);
    pen.fill();
    if ((mark === "step" || mark === "reported") && row.step > 1 && this.shown[1] - this.shown[0] < (this.full[1] - this.full[0]) / 2) pen.fillText(row.step, x + 6, y + 14);
  }

  ring(pen) {
    const row = this.rows[this.chosen];
    if (!row?.drawn) return;
    pen.strokeStyle = colour("--ink");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(this.x(row.t), this.y((row.low + row.high) / 2), 8, 0, 7);
    pen.stroke();
  }
}

const packetCharts = [];
const stretches = new Map(); // by id, unpacked once

function redrawPackets() {
  for (const chart of packetCharts) chart.draw();
}

async function openPackets(details) {
  if (!details.open || "opened" in details.dataset) return;
  details.dataset.opened = "";
  const id = details.dataset.stretch;
  if (!stretches.has(id)) stretches.set(id, unpacked(id).then(JSON.parse));
  const data = await stretches.get(id);
  packetCharts.push(new PacketChart(details.querySelector(".packet-chart"), data, Number(details.dataset.moment)));
  details.dataset.drawn = "";
}

function wirePackets() {
  for (const details of document.querySelectorAll("details[data-stretch]")) {
    details.addEventListener("toggle", () => openPackets(details));
    openPackets(details);
  }
}
