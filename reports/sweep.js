"use strict";
/* Heat maps over two parameters, the others as facets and filters; text enters as text only. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const STATISTICS = {mean: "mean", median: "median", deviation: "standard deviation", runs: "number of runs"};

function bytes(text) { return Uint8Array.from(atob(text), c => c.charCodeAt(0)); }
for (const axis of DATA.parameters) axis.places = new Uint16Array(bytes(axis.places).buffer);
DATA.origins.places = bytes(DATA.origins.places);
for (const measure of DATA.measures) {
  measure.values = measure.hits ? Float32Array.from(bytes(measure.hits), hit => hit > 1 ? NaN : hit) : new Float32Array(bytes(measure.values).buffer);
}
const pageOf = run => DATA.pages[run] === 1 ? `pages/${DATA.runs[run].replaceAll("/", "%2f")}.html` : DATA.pages[run];

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child !== null));
  return made;
}

/* Numbers with units, as l4strace.wording.quantities has them. */
const SCALES = {
  "us": [[1e6, "s"], [1e3, "ms"], [1, "µs"]], "s": [[1, "s"], [1e-3, "ms"]],
  "bit/s": [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]],
};
function digits(value) {
  if (value === 0) return "0";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  const text = value.toPrecision(3);
  return text.includes("e") ? text : String(parseFloat(text));
}
function shown(value, unit) {
  if (!Number.isFinite(value)) return "–";
  if (unit === "share") return `${(100 * value).toFixed(1)} %`;
  if (unit === "points") return `${(100 * value).toFixed(1)} points`;
  for (const [size, name] of SCALES[unit] ?? []) if (Math.abs(value) >= size) return `${digits(value / size)} ${name}`;
  return unit ? `${digits(value)} ${unit}` : digits(value);
}

function statistics(values) {
  const n = values.length;
  const sorted = Float64Array.from(values).sort();
  const mean = sorted.reduce((sum, v) => sum + v, 0) / n;
  const middle = n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  const squares = sorted.reduce((sum, v) => sum + (v - mean) ** 2, 0);
  return {runs: n, mean, median: middle, deviation: n > 1 ? Math.sqrt(squares / (n - 1)) : NaN, lowest: sorted[0], highest: sorted[n - 1]};
}

/* Share of the variance that a parameter explains by itself (eta squared), with its groups. */
function explained(measure, axis, runs) {
  const groups = new Map();
  const all = [];
  for (const run of runs) {
    const value = measure.values[run], place = axis.places[run];
    if (Number.isNaN(value)) continue;
    all.push(value);
    if (!groups.has(place)) groups.set(place, []);
    groups.get(place).push(value);
  }
  if (groups.size < 2) return null;
  const whole = statistics(all);
  const total = all.reduce((sum, v) => sum + (v - whole.mean) ** 2, 0);
  const means = [...groups].map(([place, values]) => ({place, n: values.length, mean: statistics(values).mean}));
  const between = means.reduce((sum, g) => sum + g.n * (g.mean - whole.mean) ** 2, 0);
  means.sort((a, b) => a.mean - b.mean);
  return {part: total > 0 ? between / total : 0, low: means[0], high: means[means.length - 1]};
}

const ALL_RUNS = DATA.runs.map((_, run) => run);
const byName = (list, name) => list.find(one => one.name === name) ?? null;

/* The first measure that most runs have, else the one that the most have. */
function usual() {
  const known = DATA.measures.map(measure => measure.values.reduce((n, v) => n + !Number.isNaN(v), 0));
  const most = Math.max(0, ...known);
  return DATA.measures[known.findIndex(n => n > 0 && 2 * n >= most && 2 * n >= DATA.runs.length)]?.name ?? DATA.measures[known.indexOf(most)]?.name;
}
const state = {measure: usual(), statistic: "mean", x: "", y: "", across: "", down: "", filters: {}};

/* Fields of all maps of the first view: a browser lays out 20,000 in half a second. */
const MOST_FIELDS = 20000;

/* First view: the two numeric parameters with most values as axes, what differs most as facets.
   Parameters that every run has come first: the others describe a part of the runs. */
function begin() {
  const measure = byName(DATA.measures, state.measure);
  // A parameter that has one value where the measure has numbers makes no axis.
  const known = ALL_RUNS.filter(run => measure && !Number.isNaN(measure.values[run]));
  const varied = new Map(DATA.parameters.map(axis => [axis, new Set(known.map(run => axis.places[run])).size]));
  const rank = (a, b) => ((varied.get(b) > 1) - (varied.get(a) > 1)) || (b.complete - a.complete) || (b.numeric - a.numeric) || (varied.get(b) - varied.get(a));
  const axes = DATA.parameters.filter(axis => axis.name !== "origin").sort(rank);
  [state.x, state.y] = [axes[0]?.name ?? "", axes[1]?.name ?? ""];
  const rest = axes.slice(2).map(axis => [axis, measure ? explained(measure, axis, ALL_RUNS)?.part ?? 0 : 0]);
  rest.sort((a, b) => (b[0].complete - a[0].complete) || (b[1] - a[1]));
  const facets = [];
  let fields = (axes[0]?.values.length ?? 1) * (axes[1]?.values.length ?? 1);
  for (const [axis] of rest) {
    if (facets.length === 2 || !axis.complete || varied.get(axis) < 2 || axis.values.length > 8 || fields * axis.values.length > MOST_FIELDS) continue;
    fields *= axis.values.length;
    facets.push(axis.name);
  }
  // Maps of one row are read against each other, so that the fewer ones stand there.
  facets.sort((a, b) => byName(DATA.parameters, a).values.length - byName(DATA.parameters, b).values.length);
  [state.across, state.down] = [facets[0] ?? "", facets[1] ?? ""];
  for (const [axis] of rest) if (!facets.includes(axis.name) && balanced(axis)) state.filters[axis.name] = "0";
}

/* In a planned grid each value has about as many runs, so that one of them is a whole figure. */
function balanced(axis) {
  const counts = new Array(axis.values.length).fill(0);
  for (const place of axis.places) counts[place] += 1;
  return axis.complete && 2 * Math.min(...counts) >= Math.max(...counts);
}

function taken() { return new Set([state.x, state.y, state.across, state.down].filter(Boolean)); }

function filtered() {
  const tests = Object.entries(state.filters).filter(([name, at]) => at !== "" && !taken().has(name))
    .map(([name, at]) => [byName(DATA.parameters, name).places, Number(at)]);
  return ALL_RUNS.filter(run => tests.every(([places, at]) => places[run] === at));
}

function choice(label, value, options, change) {
  const select = element("select", {}, ...options.map(([key, text]) => element("option", {value: key, textContent: text})));
  select.value = value;
  select.addEventListener("change", () => { change(select.value); draw(); });
  return element("label", {}, label, select);
}

function controls() {
  const names = DATA.parameters.map(axis => [axis.name, axis.name]);
  const optional = [["", "–"], ...names];
  const place = key => value => {
    for (const other of ["x", "y", "across", "down"]) if (value && other !== key && state[other] === value) state[other] = state[key];
    state[key] = value;
  };
  const rest = DATA.parameters.filter(axis => !taken().has(axis.name));
  document.getElementById("controls").replaceChildren(
    choice("Measure", state.measure, DATA.measures.map(m => [m.name, m.title]), v => { state.measure = v; }),
    choice("Statistic", state.statistic, Object.entries(STATISTICS), v => { state.statistic = v; }),
    choice("Columns", state.x, optional, place("x")), choice("Rows", state.y, optional, place("y")),
    choice("A map for each", state.across, optional, place("across")), choice("and each", state.down, optional, place("down")),
    ...rest.map(axis => choice(`Only ${axis.name}`, state.filters[axis.name] ?? "",
      [["", `all ${axis.values.length}, pooled`], ...axis.values.map((value, at) => [String(at), value])], v => { state.filters[axis.name] = v; })));
}

/* {facets: [{across, down, cells: Map "x,y" -> runs}], axes} of the runs that the filters leave. */
function grouped(measure) {
  const axes = Object.fromEntries(["x", "y", "across", "down"].map(key => [key, byName(DATA.parameters, state[key])]));
  const at = (key, run) => axes[key] ? axes[key].places[run] : 0;
  const facets = new Map();
  for (const run of filtered()) {
    if (Number.isNaN(measure.values[run])) continue;
    const [x, y, across, down] = ["x", "y", "across", "down"].map(key => at(key, run));
    const name = `${down},${across}`;
    if (!facets.has(name)) facets.set(name, {across, down, cells: new Map()});
    const cells = facets.get(name).cells, cell = `${x},${y}`;
    if (!cells.has(cell)) cells.set(cell, []);
    cells.get(cell).push(run);
  }
  const sorted = [...facets.values()].sort((a, b) => a.down - b.down || a.across - b.across);
  return {axes, facets: sorted};
}

/* Parameters with several values in one cell: its number is over all of them. */
function pooled(facets) {
  const cells = facets.flatMap(facet => [...facet.cells.values()]);
  const mixed = DATA.parameters.filter(axis => !taken().has(axis.name) && axis.name !== "origin"
    && cells.some(runs => runs.some(run => axis.places[run] !== axis.places[runs[0]])));
  return mixed.length ? `Each cell pools all values of ${mixed.map(axis => axis.name).join(", ")}.` : "";
}
/* Numbers of packets and of a load generator are not measured in the same place: the figure says so. */
function mixture(facets) {
  const counts = new Array(DATA.origins.names.length).fill(0);
  for (const facet of facets) for (const runs of facet.cells.values()) for (const run of runs) counts[DATA.origins.places[run]] += 1;
  const parts = counts.map((n, at) => n ? `${DATA.origins.names[at]} (${count(n, "run")})` : "").filter(Boolean);
  return parts.length > 1 ? `These maps mix numbers from ${parts.join(" and ")}: choose one kind under "Only origin".` : "";
}
const count = (n, noun) => `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : "s"}`;

function range(measure, figures) {
  if (state.statistic === "mean" || state.statistic === "median") {
    if (measure.center === 0) {
      const most = Math.max(1e-12, ...figures.map(f => Math.abs(f[state.statistic])).filter(Number.isFinite));
      return [-most, most];
    }
    if (measure.unit === "share") return [0, Math.max(1, ...figures.map(f => f[state.statistic]))];
  }
  const values = figures.map(f => f[state.statistic]).filter(Number.isFinite);
  return [Math.min(0, ...values), Math.max(...values, 1e-12)];
}

function caption(axes, facet) {
  const parts = [["across", facet.across], ["down", facet.down]].filter(([key]) => axes[key])
    .map(([key, at]) => `${axes[key].name} ${axes[key].values[at]}`);
  return parts.join(", ") || "All runs";
}

let figure = null;

function draw() {
  controls();
  const measure = byName(DATA.measures, state.measure);
  const holder = document.getElementById("facets");
  if (!measure) { holder.replaceChildren(element("p", {className: "absent", textContent: "No run has a number."})); return; }
  const {axes, facets} = grouped(measure);
  document.getElementById("doc").textContent = [measure.doc, pooled(facets), mixture(facets)].filter(Boolean).join(" ");
  for (const facet of facets) {
    facet.figures = new Map([...facet.cells].map(([cell, runs]) => [cell, statistics(runs.map(run => measure.values[run]))]));
  }
  const [low, high] = range(measure, facets.flatMap(facet => [...facet.figures.values()]));
  const diverging = measure.center !== null && state.statistic !== "deviation" && state.statistic !== "runs";
  const palette = diverging ? DIVERGING : SEQUENTIAL;
  const fill = value => color(palette, (value - low) / (high - low || 1));
  const unit = state.statistic === "runs" ? "" : measure.unit;
  document.getElementById("cell").hidden = true;
  figure = {measure, axes, unit, across: new Set(facets.map(facet => facet.across)).size,
    maps: facets.map(facet => mapOf(axes, facet, {x: places([facet], 0), y: places([facet], 1)}, fill, unit))};
  holder.replaceChildren(...figure.maps.flatMap((map, at) => [
    ...(at && facets[at].down !== facets[at - 1].down ? [element("div", {className: "break"})] : []), element("div", {}, map.table)]));
  if (!facets.length) holder.replaceChildren(element("p", {className: "absent", textContent: "The filters leave no run."}));
  const steps = Array.from({length: 11}, (_, at) => css(color(palette, at / 10))).join(",");
  const bar = element("span", {className: "bar"});
  bar.style.background = `linear-gradient(90deg,${steps})`;
  document.getElementById("scale").replaceChildren(shown(low, unit), bar, shown(high, unit), ` ${STATISTICS[state.statistic]} of ${measure.title}`);
  differs(measure);
}

/* Places on an axis (0: columns, 1: rows) that a map fills: no row and no column without runs. */
function places(facets, axis) {
  const found = new Set(facets.flatMap(facet => [...facet.cells.keys()].map(cell => Number(cell.split(",")[axis]))));
  return [...found].sort((a, b) => a - b);
}

function mapOf(axes, facet, used, fill, unit) {
  const columns = used.x.map(at => axes.x ? axes.x.values[at] : "all runs"), rows = used.y.map(at => axes.y ? axes.y.values[at] : "all runs");
  const title = caption(axes, facet);
  const cells = used.y.map((row, y) => used.x.map((column, x) => {
    const found = facet.figures.get(`${column},${row}`);
    if (!found) return null;
    const value = found[state.statistic];
    const text = unit === "points" ? (100 * value).toFixed(1) : shown(value, unit);
    return {found, runs: facet.cells.get(`${column},${row}`), value, text, fill: fill(value), x, y};
  }));
  const corner = element("th", {scope: "col", textContent: [axes.y?.name, axes.x?.name].filter(Boolean).join(" \\ ") || "–"});
  const table = element("table", {className: "map"}, element("caption", {textContent: title}),
    element("thead", {}, element("tr", {}, corner, ...columns.map(value => element("th", {scope: "col", textContent: value})))),
    element("tbody", {}, ...rows.map((value, y) => element("tr", {}, element("th", {scope: "row", textContent: value}),
      ...cells[y].map(cell => element("td", {}, ...(cell ? [button(cell, title, [columns[cell.x], value])] : [])))))));
  return {caption: title, columns, rows, cells, table};
}

function button(cell, title, place) {
  const {runs, deviation} = cell.found;
  const measure = byName(DATA.measures, state.measure);
  const spread = DATA.of === "cells" ? "" : Number.isFinite(deviation) ? ` ±${measure.unit === "share" ? (100 * deviation).toFixed(1) : shown(deviation, measure.unit)}` : "";
  const made = element("button", {type: "button", "aria-pressed": "false"},
    element("b", {textContent: cell.text}), element("i", {textContent: DATA.of === "cells" ? noteOf(cell.runs) : `${runs}${spread}`}));
  made.title = `median ${shown(cell.found.median, measure.unit)}, ${shown(cell.found.lowest, measure.unit)} to ${shown(cell.found.highest, measure.unit)}`;
  made.style.background = css(cell.fill);
  made.style.color = ink(cell.fill);
  made.addEventListener("click", () => {
    document.querySelectorAll(".map button[aria-pressed=true]").forEach(one => one.setAttribute("aria-pressed", "false"));
    made.setAttribute("aria-pressed", "true");
    open(cell, measure, `${title}: ${[figure.axes.x, figure.axes.y].map((axis, at) => axis ? `${axis.name} ${place[at]}` : "").filter(Boolean).join(", ")}`);
  });
  return made;
}

/* Of compared cells: whether they differ. */
function noteOf(runs) {
  const differs = runs.filter(run => DATA.differs[state.measure]?.[run]).length;
  if (runs.length === 1) return differs ? "differs" : "";
  return `${differs} of ${runs.length}`;
}

/* The distribution behind a cell, and its runs. */
function open(cell, measure, title) {
  const MOST = 200;
  const f = cell.found, section = document.getElementById("cell");
  const sorted = [...cell.runs].sort((a, b) => measure.values[a] - measure.values[b]);
  const kind = f.runs === 1 ? DATA.of.slice(0, -1) : DATA.of;
  const text = `${f.runs} ${kind}: mean ${shown(f.mean, measure.unit)}, median ${shown(f.median, measure.unit)}, `
    + `standard deviation ${shown(f.deviation, measure.unit)}, ${shown(f.lowest, measure.unit)} to ${shown(f.highest, measure.unit)}`;
  // What distinguishes the runs of the cell, and what is wrong with them.
  const more = DATA.parameters.filter(axis => sorted.some(run => axis.places[run] !== axis.places[sorted[0]]));
  const worst = DATA.worst ?? [];
  const rows = sorted.slice(0, MOST).map(run => {
    const page = pageOf(run);
    const name = page ? element("a", {href: page.split("/").map(encodeURIComponent).join("/"), textContent: DATA.runs[run]}) : DATA.runs[run];
    return element("tr", {}, element("th", {scope: "row"}, name), element("td", {textContent: shown(measure.values[run], measure.unit)}),
      ...more.map(axis => element("td", {textContent: axis.values[axis.places[run]]})), ...(worst.length ? [element("td", {textContent: worst[run] || "–"})] : []));
  });
  const table = element("table", {}, element("thead", {}, element("tr", {}, element("th", {scope: "col", textContent: DATA.of === "cells" ? "Cell" : "Run"}), element("th", {scope: "col", textContent: measure.title}),
    ...more.map(axis => element("th", {scope: "col", textContent: axis.name})), ...(worst.length ? [element("th", {scope: "col", textContent: "Worst finding"})] : []))), element("tbody", {}, ...rows));
  document.getElementById("cell-title").textContent = `${DATA.of === "cells" ? "Cells" : "Runs"} of ${title}`;
  document.getElementById("cell-body").replaceChildren(element("p", {textContent: text}), strip(sorted.map(run => measure.values[run]), f, measure),
    element("div", {className: "scroll", tabIndex: 0, role: "region", "aria-label": "Runs of the cell"}, table),
    ...(sorted.length > MOST ? [element("p", {className: "note", textContent: `${sorted.length - MOST} more are in the dataset.`})] : []));
  section.hidden = false;
  document.getElementById("cell-title").focus();
}

function strip(values, f, measure) {
  const NS = "http://www.w3.org/2000/svg", width = 640;
  const make = (name, attributes, text) => {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const x = value => 40 + (width - 80) * (f.highest > f.lowest ? (value - f.lowest) / (f.highest - f.lowest) : 0.5);
  const svg = make("svg", {viewBox: `0 0 ${width} 84`, width, height: 84, class: "strip", role: "img", "aria-label": `Distribution of ${measure.title} over ${f.runs} ${DATA.of}`});
  // Neighbours in value stand at different heights, always the same ones.
  values.forEach((value, at) => svg.append(make("circle", {cx: x(value), cy: 14 + (at * 7) % 29, r: 3.2})));
  svg.append(make("line", {x1: x(f.median), x2: x(f.median), y1: 6, y2: 50, "stroke-width": 2}));
  svg.append(make("text", {x: x(f.median), y: 64, "text-anchor": "middle"}, `median ${shown(f.median, measure.unit)}`));
  if (f.highest > f.lowest) {
    svg.append(make("text", {x: 2, y: 80}, shown(f.lowest, measure.unit)), make("text", {x: width - 2, y: 80, "text-anchor": "end"}, shown(f.highest, measure.unit)));
  }
  return svg;
}

function differs(measure) {
  const runs = filtered();
  const found = DATA.parameters.map(axis => [axis, explained(measure, axis, runs)]).filter(([, e]) => e);
  found.sort((a, b) => b[1].part - a[1].part);
  const side = (axis, group) => `${axis.values[group.place]}: ${shown(group.mean, measure.unit)}`;
  const rows = found.map(([axis, e]) => element("tr", {}, element("th", {scope: "row", textContent: axis.name}),
    element("td", {}, element("meter", {min: 0, max: 1, value: e.part, "aria-label": `variance explained by ${axis.name}`}), ` ${(100 * e.part).toFixed(0)} %`),
    element("td", {textContent: side(axis, e.low)}), element("td", {textContent: side(axis, e.high)})));
  const head = ["Parameter", "Variance explained", "Lowest mean", "Highest mean"].map(text => element("th", {scope: "col", textContent: text}));
  document.getElementById("differs").replaceChildren(rows.length
    ? element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows))
    : element("p", {className: "absent", textContent: "No parameter has two values here."}));
}

function csvRows() {
  const {axes, measure, maps} = figure;
  const names = [axes.x, axes.y].map(axis => axis?.name ?? "");
  const head = ["map", ...names, "runs", "mean", "median", "deviation", "lowest", "highest", "measure", "unit"];
  const cells = maps.flatMap(map => map.cells.flat().filter(Boolean).map(cell => [map.caption, map.columns[cell.x], map.rows[cell.y],
    cell.found.runs, ...["mean", "median", "deviation", "lowest", "highest"].map(key => Number.isFinite(cell.found[key]) ? Number(cell.found[key].toPrecision(7)) : ""), measure.name, measure.unit]));
  return [head, ...cells];
}
function figureSvg() { return svgOf(figure.measure.title, figure.axes.x?.name ?? "", figure.axes.y?.name ?? "", figure.maps, figure.across); }
const fileName = ending => `${figure.measure.name}-${state.statistic}.${ending}`;
const withFigure = make => () => { if (figure?.maps.length) make(); };
document.getElementById("csv").addEventListener("click", withFigure(() => save(fileName("csv"), new Blob([csvOf(csvRows())], {type: "text/csv"}))));
document.getElementById("svg").addEventListener("click", withFigure(() => save(fileName("svg"), new Blob([figureSvg()], {type: "image/svg+xml"}))));
document.getElementById("png").addEventListener("click", withFigure(() => savePng(fileName("png"), figureSvg())));

begin();
draw();
document.documentElement.dataset.drawn = document.documentElement.dataset.complete = String(Math.round(performance.now()));
