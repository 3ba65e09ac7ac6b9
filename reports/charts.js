// Draws the figures of a page, and what a reader does with a chart: one large view, its numbers, print.
// A page that has some calls `unpackFigures`, `wireCharts` and `drawFigures`, in this order.

let figures = {}; // by name, unpacked before anything else
const colours = JSON.parse(document.getElementById("colours").textContent);
const PRINT_WIDTH = 690; // CSS pixels between the margins of A4
const LEGEND_ROW = 26; // CSS pixels above a chart that its height allows for
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
  const large = plot.closest(".large");
  plot.dataset.height ??= plot.style.height;
  if (!large) plot.style.height = plot.dataset.height;
  layout.height = plot.clientHeight;
  if (isTimeline(plot) && timeWindow) layout.xaxis.range = [...timeWindow];
  const fresh = !drawn(plot);
  Plotly.react(plot, data, layout, { displayModeBar: false, responsive: true, doubleClick: "reset" });
  const more = (plot.querySelector(".legend")?.getBBox().height ?? 0) - LEGEND_ROW;
  if (more > 0 && !large) {
    // Rows of names take no room from the curves.
    plot.style.height = `${layout.height + more}px`;
    Plotly.relayout(plot, { height: layout.height + more });
  }
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

// `changed` draws everything in other colours, or in the size of the window again.
function wireCharts(changed) {
  wireZoom();
  addEventListener("keydown", (event) => {
    const figure = document.querySelector(".chart.large");
    if (event.key === "Escape" && figure) enlarge(figure);
  });
  for (const details of document.querySelectorAll("details.numbers")) {
    details.addEventListener("toggle", () => fillNumbers(details));
    details.querySelector(".save").addEventListener("click", (event) => save(details, event.target.dataset.format));
    details.querySelector("[data-large]").addEventListener("click", () => enlarge(details.closest("figure")));
  }
  for (const details of document.querySelectorAll("details.flow")) {
    details.addEventListener("toggle", () => { if (details.open && window.Plotly) drawPending(); });
  }
  addEventListener("beforeprint", () => {
    printing = true;
    for (const details of document.querySelectorAll("details.flow")) details.open = true;
    if (window.Plotly) for (const plot of plots()) draw(plot);
  });
  addEventListener("afterprint", () => { printing = false; changed(); });
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

async function unpackFigures() {
  figures = JSON.parse(await unpacked("figures"));
}

async function drawFigures() {
  if (!Object.keys(figures).length) {
    root.dataset.drawn = root.dataset.complete = now();
    return;
  }
  await loadPlotly();
  await drawPending();
}

function failed(error) {
  root.dataset.failed = String(error);
  for (const plot of plots()) if (!drawn(plot)) plot.textContent = `The chart could not be drawn: ${error}`;
}
