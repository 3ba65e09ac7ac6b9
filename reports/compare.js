// Puts the charts of two runs together. Runs after the files that lie before it in SCRIPTS
// (l4strace/comparison/page.py).

async function main() {
  await unpackFigures();
  wireLinks();
  wireTheme(redraw);
  wireCharts(redraw);
  addEventListener("hashchange", visit);
  visit();
  await drawFigures();
  if (location.hash) visit();
}

main().catch(failed);
