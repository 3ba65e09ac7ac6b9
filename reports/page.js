// Puts the parts of the page of a run together. Runs after the files that lie before it in SCRIPTS
// (l4strace/page/fill.py). Everything on the page is readable without any of them.

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

// The row of the table of flows that a link leads to may be on another page of it.
function arrive() {
  const [name] = fragment().split("&");
  if (name) turnTo(name);
  visit();
}

function redrawAll() {
  redraw();
  redrawPackets();
}

function wire() {
  wireLinks();
  wireTheme(redrawAll);
  reachTables();
  wireCharts(redrawAll);
  wirePackets();
  addEventListener("hashchange", arrive);
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details.rule.found")) details.open = true;
  });
}

async function main() {
  await unpackFigures();
  wire();
  await wireTable();
  wireSearch();
  wireMarkdown();
  arrive();
  await drawFigures();
  if (location.hash) arrive();
  wireTerms();
}

main().catch(failed);
