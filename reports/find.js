// Search over the page, and a finding as Markdown for a ticket.

const MOST_HITS = 12;
const PLACES = [
  [".finding", (e) => `${e.querySelector(".label a")?.textContent ?? ""} ${e.querySelector("h3")?.textContent ?? ""}`],
  ["h2[id], details.flow[id], figure.chart[id]", (e) => (e.querySelector("figcaption b, h3") ?? e).textContent],
  ["details.rule[id]", (e) => e.querySelector("summary").textContent],
  [".glossary > div", (e) => e.querySelector("dt").textContent],
];

const squeezed = (text) => text.replace(/\s+/g, " ").trim();

// What can be found, each with the words of its whole text: those of what is folded, too.
function searchable() {
  const places = PLACES.flatMap(([selector, name]) => [...document.querySelectorAll(selector)].map(
    (e) => ({ id: e.id, name: squeezed(name(e)).replace(/ #$/, ""), text: squeezed(e.textContent).toLowerCase() })));
  const rows = flowTable.rows.filter((row) => row.id).map((row) => ({ id: row.id, name: squeezed(row.cells[0].textContent), text: flowText(row) }));
  return [...places, ...rows].filter((place) => place.id);
}

function wireSearch() {
  const box = document.getElementById("search");
  const input = box.querySelector("input");
  const list = box.querySelector("ul");
  let places = null;
  const close = () => { list.hidden = true; };
  const find = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    places ??= searchable();
    const named = (place) => words.every((word) => place.name.toLowerCase().includes(word));
    const hits = words.length ? places.filter((place) => words.every((word) => place.text.includes(word))) : [];
    hits.sort((a, b) => named(b) - named(a));
    list.replaceChildren(...hits.slice(0, MOST_HITS).map((hit) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `#${hit.id}`;
      link.textContent = hit.name;
      item.append(link);
      return item;
    }));
    if (hits.length > MOST_HITS || (words.length && !hits.length)) {
      const note = document.createElement("li");
      note.textContent = hits.length ? `and ${hits.length - MOST_HITS} more` : "nothing found";
      list.append(note);
    }
    list.hidden = !words.length;
  };
  box.hidden = false;
  input.addEventListener("input", find);
  input.addEventListener("focus", () => { if (input.value) find(); });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === input) { list.querySelector("a")?.click(); event.preventDefault(); }
    if (event.key === "Escape") { close(); input.focus(); }
  });
  list.addEventListener("click", close);
  box.addEventListener("focusout", (event) => { if (!box.contains(event.relatedTarget)) close(); });
}

// Names from a capture must not act as markup: as `text` of l4strace/output/markdown.py.
const plain = (text) => squeezed(text).replace(/([\\`*_{}[\]<>#!|~])/g, "\\$1").replaceAll("@", "@\u2060");

function findingAsMarkdown(card) {
  const text = (selector, from = card) => squeezed(from.querySelector(selector)?.innerText ?? "");
  const told = card.querySelector(".told") !== null;
  const verdict = document.getElementById("verdict");
  const message = told ? text(".message", verdict) : text(".message");
  const action = text(".action") || (told || card.querySelector(".remedy-told") ? text(".action", verdict) : "");
  const facts = [...card.querySelectorAll(".facts > div")].map((fact) => `- ${plain(`${text("dt", fact)}: ${text("dd", fact)}`)}`);
  const lines = [
    `**${plain(text("h3"))}** (${plain(text(".label").replace(/ ?#.*$/, ""))})`,
    plain(message), plain(action), plain(text(".where")), facts.join("\n"),
    ...[...card.querySelectorAll(".filter code")].map((code) => `\`${code.textContent.replaceAll("`", "'")}\``),
  ];
  return lines.filter(Boolean).join("\n\n");
}

function wireMarkdown() {
  for (const button of document.querySelectorAll("[data-markdown]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(findingAsMarkdown(button.closest(".finding")), button));
  }
}
