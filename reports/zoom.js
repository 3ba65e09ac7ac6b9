// The time window that all timelines share: by mouse, keyboard, buttons, and in the page's address.

let timeWindow = null; // [from, to] in seconds, null: all

const fullRange = (plot) => figures[plot.dataset.figure].layout.xaxis.range;
const same = (a, b) => Math.abs(a[0] - b[0]) < 1e-6 && Math.abs(a[1] - b[1]) < 1e-6;

// Linked zoom: what one timeline shows, all show.
function follow(plot, event) {
  if (!isTimeline(plot) || !Object.keys(event).some((key) => key.startsWith("xaxis"))) return;
  const full = fullRange(plot);
  const shown = event["xaxis.autorange"] ? full : plot.layout.xaxis.range;
  // plotly reports a change after it was made: without this, our own would come back for ever.
  if (!same(shown, timeWindow ?? full)) zoom(same(shown, full) ? null : [...shown]);
}

function zoom(range) {
  timeWindow = range;
  document.getElementById("whole-run").hidden = !range;
  for (const plot of plots()) {
    if (!drawn(plot) || !isTimeline(plot)) continue;
    const wanted = range ?? fullRange(plot);
    if (!same(plot.layout.xaxis.range, wanted)) Plotly.relayout(plot, { "xaxis.range": [...wanted] });
  }
  for (const details of document.querySelectorAll("details.numbers[open]")) fillNumbers(details);
  const target = location.hash.slice(1).split("&")[0];
  const time = range ? `&t=${range.map((second) => second.toFixed(3)).join(",")}` : "";
  if (!target && !time) return;
  try {
    history.replaceState(null, "", `#${target || "timelines"}${time}`);
  } catch { /* a file in a sandbox has no history */ }
}

// How each step changes the middle and the width of the window, in widths.
const STEPS = { in: [0, 0.5], out: [0, 2], earlier: [-0.25, 1], later: [0.25, 1] };
const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "earlier", ArrowRight: "later", 0: "whole", Escape: "whole" };
const NARROWEST = 1e-3; // seconds: what the address of the page can hold

function step(name) {
  const timeline = plots().find((plot) => drawn(plot) && isTimeline(plot));
  if (!timeline) return;
  const full = fullRange(timeline);
  if (!(name in STEPS)) return void zoom(null);
  const [shift, factor] = STEPS[name];
  const [from, to] = timeWindow ?? full;
  const width = Math.min(Math.max((to - from) * factor, NARROWEST), full[1] - full[0]);
  const middle = (from + to) / 2 + shift * (to - from);
  const start = Math.min(Math.max(middle - width / 2, full[0]), full[1] - width);
  zoom(same([start, start + width], full) ? null : [start, start + width]);
}

// Hands on a chart that was just drawn for the first time.
function control(plot) {
  plot.on("plotly_relayout", (event) => follow(plot, event));
  // plotly would take every swipe for a zoom, and the page would not scroll: a touch zooms by buttons.
  plot.addEventListener("touchstart", (event) => event.stopPropagation(), { capture: true, passive: true });
  if (!isTimeline(plot)) return;
  plot.tabIndex = 0;
  plot.setAttribute("aria-keyshortcuts", "+ - ArrowLeft ArrowRight 0");
  plot.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    step(KEYS[event.key]);
  });
}

function wireZoom() {
  for (const group of document.querySelectorAll(".zoom")) group.hidden = false;
  for (const button of document.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => step(button.dataset.step));
  }
}
