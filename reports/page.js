// Draws the figures, and makes links, copies and the theme work. Runs after the files that lie before
// it in SCRIPTS (l4strace/page/fill.py). Everything on the page is readable without any of them.

let figures = {}; // by name, unpacked before anything else
const colours = JSON.parse(document.getElementById("colours").textContent);
const PRINT_WIDTH = 690; // CSS pixels between the margins of A4
const fontFamily = getComputedStyle(document.body).fontFamily;

const plots = () => [...document.querySelectorAll(".plot")];
const drawn = (plot) => plot.classList.contains("js-plotly-plot");
const isTimeline = (plot) => Boolean(figures[plot.dataset.figure].layout.meta?.timeline);

// A copy of a value with each light colour (with or without opacity) replaced by its dark one.
function recoloured(value) {
  if (typeof value === "string") {
    return value[0] === "#" ? (colours[value.slice(0, 7)] ?? value.slice(0, 7)) + value.slice(7) : value;
  }
  if (Array.isArray(value)) return value.map(recoloured);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, recoloured(part)]));
}

// A figure in the colours of the theme: light values are in the figure, dark ones take their place.
function themed(key) {
  const figure = isDark() ? recoloured(figures[key]) : structuredClone(figures[key]);
  const { layout } = figure;
  layout.font = { ...layout.font, color: colour("--text"), family: fontFamily };
  layout.hoverlabel = {
    bgcolor: colour("--panel"), bordercolor: colour("--grid"), font: { color: colour("--ink") },
  };
  for (const axis of [layout.xaxis, layout.yaxis]) axis.gridcolor = axis.linecolor = colour("--grid");
  return figure;
}

function draw(plot) {
  const { data, layout } = themed(plot.dataset.figure);
  layout.autosize = true;
  layout.width = printing ? PRINT_WIDTH : undefined;
  layout.height = plot.clientHeight;
  if (isTimeline(plot) && timeWindow) layout.xaxis.range = [...timeWindow];
  const fresh = !drawn(plot);
  Plotly.react(plot, data, layout, { displayModeBar: false, responsive: true, doubleClick: "reset" });
  if (!fresh) return;
  control(plot);
  fitting.observe(plot);
}

// In a window of another width, what is in view fits at once: plotly waits for some frames, in which a
// narrow window would cut it off.
const fitting = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    const fits = target.clientWidth === target.querySelector(".main-svg").clientWidth;
    if (!fits && !printing && inView(target)) Plotly.relayout(target, { autosize: true });
  }
});

function redraw() {
  for (const plot of plots()) if (drawn(plot)) draw(plot);
  redrawPackets();
}

// Links: #L4S301-flow-3, #flow-3, #marks (first chart of that name), each with &t=12.5,13.0.
function fragment() {
  const raw = location.hash.slice(1);
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw; // a stray % is taken as it stands
  }
}

function visit() {
  const [name, ...rest] = fragment().split("&");
  const time = rest.find((part) => part.startsWith("t="))?.slice(2).split(",").map(Number);
  if (time?.length === 2 && time.every(Number.isFinite) && time[0] < time[1]) {
    zoom(time);
  }
  if (name) turnTo(name);
  const target = name && (document.getElementById(name) ?? document.querySelector(`[data-name="${CSS.escape(name)}"]`));
  if (!target) return;
  for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
  target.scrollIntoView();
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const before = button.textContent;
  button.textContent = "✓";
  setTimeout(() => { button.textContent = before; }, 1200);
}

function themeButton() {
  const button = document.getElementById("theme");
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("l4strace-theme", root.dataset.theme); } catch { /* no storage */ }
    label();
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { label(); redraw(); });
}

// A table that is wider than the screen scrolls by keyboard too, once it can have the focus.
// It says so, too: a phone shows no scroll bar.
const widths = new ResizeObserver((changes) => {
  for (const { target } of changes) target.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1);
});

function reachTables() {
  for (const box of document.querySelectorAll(".scroll")) {
    const heading = box.closest("section")?.querySelector("h2")?.firstChild.textContent.trim();
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `Table of the section ${heading}`);
    const hint = document.createElement("p");
    hint.className = "scrolls";
    hint.textContent = "This table scrolls sideways.";
    box.before(hint);
    widths.observe(box);
  }
}

// A link leads below the header, however many rows the names of the sections take.
function clearHeader() {
  const header = document.querySelector(".top");
  const sticks = () => getComputedStyle(header).position === "sticky";
  const clear = () => { root.style.scrollPaddingTop = sticks() ? `${header.offsetHeight + 8}px` : ""; };
  new ResizeObserver(clear).observe(header);
  clear();
}

// One chart over the whole window, and back: by its button, or by Escape.
function enlarge(figure) {
  const large = figure.classList.toggle("large");
  const plot = figure.querySelector(".plot");
  figure.querySelector("[data-large]").textContent = large ? "Back to the page" : "Large view";
  plot.dataset.height ??= plot.style.height;
  plot.style.height = large ? `${Math.max(200, innerHeight - plot.offsetTop - 24)}px` : plot.dataset.height;
  if (drawn(plot)) draw(plot);
}

function wire() {
  addEventListener("keydown", (event) => {
    const figure = document.querySelector(".chart.large");
    if (event.key === "Escape" && figure) enlarge(figure);
  });
  clearHeader();
  themeButton();
  reachTables();
  wireZoom();
  wirePackets();
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button.parentElement.querySelector("code").textContent, button));
  }
  for (const link of document.querySelectorAll(".mark-link")) {
    link.addEventListener("click", () => setTimeout(() => copy(location.href, link)));
  }
  for (const details of document.querySelectorAll("details.numbers")) {
    details.addEventListener("toggle", () => fillNumbers(details));
    details.querySelector(".save").addEventListener("click", (event) => save(details, event.target.dataset.format));
    details.querySelector("[data-large]").addEventListener("click", () => enlarge(details.closest("figure")));
  }
  for (const details of document.querySelectorAll("details.flow")) {
    details.addEventListener("toggle", () => { if (details.open && window.Plotly) drawPending(); });
  }
  addEventListener("hashchange", visit);
  addEventListener("beforeprint", () => {
    printing = true;
    for (const details of document.querySelectorAll("details.flow, details.rule.found")) details.open = true;
    if (window.Plotly) for (const plot of plots()) draw(plot);
  });
  addEventListener("afterprint", () => { printing = false; redraw(); });
}

const pending = () => plots().filter((plot) => !drawn(plot) && plot.closest("details.flow:not([open])") === null);

const inView = (plot) => {
  const { top, bottom } = plot.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
};
const now = () => String(Math.round(performance.now()));

// One figure per task, so that the page stays responsive; what the reader looks at comes first.
// `drawn` is when all in view was there, `complete` when the rest was.
async function drawPending() {
  const near = (plot) => Math.abs(plot.getBoundingClientRect().top - innerHeight / 2);
  for (let rest; (rest = pending().sort((a, b) => inView(b) - inView(a) || near(a) - near(b))).length;) {
    if (!inView(rest[0])) root.dataset.drawn ??= now();
    draw(rest[0]);
    await new Promise((resolve) => setTimeout(resolve));
  }
  root.dataset.drawn ??= now();
  root.dataset.complete ??= now();
}

// plotly's script lies in the page, so that it always fits the figures.
async function loadPlotly() {
  const script = document.createElement("script");
  // As text, not by address: a browser keeps the compiled script for the next visit.
  script.text = await unpacked("bundle");
  document.head.append(script);
}

async function main() {
  figures = JSON.parse(await unpacked("figures"));
  wire();
  await wireTable();
  wireSearch();
  wireMarkdown();
  visit();
  if (Object.keys(figures).length) {
    await loadPlotly();
    await drawPending();
    if (location.hash) visit();
  } else {
    root.dataset.drawn = root.dataset.complete = now();
  }
  wireTerms();
}

main().catch((error) => {
  root.dataset.failed = String(error);
  for (const plot of plots()) if (!drawn(plot)) plot.textContent = `The chart could not be drawn: ${error}`;
});
