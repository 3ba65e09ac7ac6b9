// The table of flows: sorted by any column, filtered by words, shown page by page.

const PAGE_ROWS = 25;
const flowTable = { rows: [], shown: [], page: 0, column: null, down: false };

const flowText = (row) => (row.dataset.text ??= [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase());

// A number where the cell has one, else its text; what is absent comes last in both orders.
function cellValue(row, column) {
  const cell = row.cells[column];
  if (!cell.classList.contains("n")) return cell.textContent.trim();
  return cell.dataset.value === "" ? null : Number(cell.dataset.value);
}

function compared(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  return flowTable.down ? -order : order;
}

function showFlows() {
  const { shown, page } = flowTable;
  const first = page * PAGE_ROWS;
  const body = document.querySelector("#flow-table tbody");
  body.replaceChildren(...shown.slice(first, first + PAGE_ROWS));
  const last = Math.min(first + PAGE_ROWS, shown.length);
  const range = shown.length ? `${(first + 1).toLocaleString("en")}\u2013${last.toLocaleString("en")}` : "0";
  document.getElementById("flow-range").textContent = `${range} of ${shown.length.toLocaleString("en")}`;
  document.getElementById("flow-back").disabled = page === 0;
  document.getElementById("flow-on").disabled = last === shown.length;
}

function arrangeFlows() {
  const words = document.getElementById("flow-words").value.toLowerCase().split(/\s+/).filter(Boolean);
  const { rows, column } = flowTable;
  flowTable.shown = rows.filter((row) => words.every((word) => flowText(row).includes(word)));
  if (column !== null) {
    const keyed = flowTable.shown.map((row) => [cellValue(row, column), row]);
    flowTable.shown = keyed.sort((a, b) => compared(a[0], b[0])).map(([, row]) => row);
  }
  flowTable.page = 0;
  showFlows();
}

// The first click on a column of numbers shows the largest, on one of words the first.
function sortFlows(header) {
  const { column, down } = flowTable;
  const again = column === header.cellIndex;
  flowTable.down = again ? !down : header.classList.contains("n");
  flowTable.column = header.cellIndex;
  for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", flowTable.down ? "descending" : "ascending");
  arrangeFlows();
}

function turnPage(by) {
  flowTable.page += by;
  showFlows();
}

// Turns to the page that has the row of this id; one that the filter hides comes back.
function turnTo(id) {
  const wanted = flowTable.rows.find((row) => row.id === id);
  if (!wanted || wanted.isConnected) return;
  if (!flowTable.shown.includes(wanted)) {
    document.getElementById("flow-words").value = "";
    arrangeFlows();
  }
  flowTable.page = Math.floor(flowTable.shown.indexOf(wanted) / PAGE_ROWS);
  showFlows();
}

async function wireTable() {
  const table = document.getElementById("flow-table");
  if (!table) return;
  if (document.getElementById("flow-rows")) {
    const all = document.createElement("template");
    all.innerHTML = await unpacked("flow-rows");
    table.tBodies[0].replaceChildren(all.content);
  }
  flowTable.rows = [...table.tBodies[0].rows];
  for (const header of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.append(...header.childNodes);
    button.addEventListener("click", () => sortFlows(header));
    header.append(button);
  }
  document.getElementById("flow-words").addEventListener("input", arrangeFlows);
  document.getElementById("flow-back").addEventListener("click", () => turnPage(-1));
  document.getElementById("flow-on").addEventListener("click", () => turnPage(1));
  document.getElementById("flow-tools").hidden = flowTable.rows.length < 2;
  arrangeFlows();
}
