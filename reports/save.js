// What a reader takes from a chart: its numbers as a table, and its picture as a file.

const MAX_ROWS = 500;

function numbersOf(plot) {
  const [from, to] = isTimeline(plot) ? plot.layout.xaxis.range : [-Infinity, Infinity];
  const found = [];
  for (const { name, hoverinfo, x, y } of plot._fullData) {
    if (hoverinfo === "skip") continue;
    for (let i = 0; i < x.length && found.length < MAX_ROWS; i++) {
      if (x[i] < from || x[i] > to || Number.isNaN(y[i])) continue;
      found.push([name, Number(x[i]).toFixed(4), Number(Number(y[i]).toPrecision(5))]);
    }
  }
  return found;
}

// The table behind a chart: what it shows in the window that it shows.
function fillNumbers(details) {
  const plot = document.querySelector(`[data-figure="${CSS.escape(details.dataset.numbers)}"]`);
  if (!details.open || !drawn(plot)) return;
  const table = document.createElement("table");
  const row = (cells, tag) => {
    const tr = (tag === "th" ? table.createTHead() : table.tBodies[0] ?? table.createTBody()).insertRow();
    for (const cell of cells) {
      const element = document.createElement(tag);
      element.textContent = cell;
      if (tag === "td") element.className = "n"; else element.scope = "col";
      tr.append(element);
    }
  };
  const { xaxis, yaxis } = figures[details.dataset.numbers].layout;
  row(["series", isTimeline(plot) ? "t (s)" : xaxis.title.text, yaxis.title.text], "th");
  const numbers = numbersOf(plot);
  for (const cells of numbers) row(cells, "td");
  if (numbers.length === MAX_ROWS) row(["first 500 rows of the window; zoom in for others", "", ""], "td");
  details.querySelector("table")?.remove();
  details.append(table);
}

const IMAGE_WIDTH = 1000; // CSS pixels: two columns of a paper, and readable on a slide
const TITLE_HEIGHT = 34;

// In the light colours and under its title, as it will stand in a paper, a slide or a ticket.
function image(figure, key) {
  const { data, layout } = structuredClone(figures[key]);
  const flow = figure.closest("details.flow")?.querySelector("summary")?.textContent.trim();
  const title = [figure.querySelector("figcaption b").textContent, flow].filter(Boolean).join(" \u00b7 ");
  layout.title = { text: title.replaceAll("<", "&lt;"), x: 0.01, y: 0.99, yanchor: "top", font: { size: 14 } };
  layout.margin.t += TITLE_HEIGHT;
  layout.paper_bgcolor = layout.plot_bgcolor = "#ffffff";
  layout.width = IMAGE_WIDTH;
  layout.height = figure.querySelector(".plot").clientHeight + TITLE_HEIGHT;
  if (layout.meta?.timeline && timeWindow) layout.xaxis.range = [...timeWindow];
  return { data, layout };
}

async function save(details, format) {
  if (!format || !window.Plotly) return;
  const key = details.dataset.numbers;
  const { data, layout } = image(details.closest("figure"), key);
  const { width, height } = layout;
  const scale = format === "png" ? 2 : 1;
  const link = document.createElement("a");
  link.href = await Plotly.toImage({ data, layout }, { format, width, height, scale });
  link.download = `${document.querySelector(".inputs").textContent.replace(/[^\w.-]+/g, "_")}-${key}.${format}`;
  link.click();
}
