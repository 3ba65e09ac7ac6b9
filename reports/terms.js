// Help where a term first stands in a section: its meaning from the glossary at the end of the page,
// by mouse or by keyboard. Each such term is a link to its entry.

const SPOKEN = "main section:not(:has(.glossary)) :is(p, dd, dt, th, figcaption, .note, td.evidence)";

// `ACE` is matched as it is written, `round` also as `Round` and `rounds`.
function termPattern(names) {
  const spelled = (name) => {
    const [first, rest] = [name[0], name.slice(1).replace(/[()/+.]/g, "\\$&")];
    const either = first === first.toLowerCase() ? `[${first}${first.toUpperCase()}]` : first;
    return `${either}${rest}${/[a-z]$/.test(name) ? "s?" : ""}`;
  };
  const longestFirst = [...names].sort((a, b) => b.length - a.length);
  return new RegExp(`(?<![\\w/(-])(?:${longestFirst.map((name) => `(${spelled(name)})`).join("|")})(?![\\w-]|\\.\\w)`);
}

function markTerms() {
  const entries = [...document.querySelectorAll(".glossary > div")];
  const meanings = new Map(entries.map((e) => [e.querySelector("dt").textContent, e]));
  const names = [...meanings.keys()].sort((a, b) => b.length - a.length);
  const pattern = termPattern(names);
  const seen = new Map();
  for (const block of document.querySelectorAll(SPOKEN)) {
    const section = block.closest("section");
    if (!seen.has(section)) seen.set(section, new Set());
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) {
      if (!walker.currentNode.parentElement.closest("a, button, code, summary, h1, h2, h3")) texts.push(walker.currentNode);
    }
    for (const text of texts) markIn(text, pattern, names, meanings, seen.get(section));
  }
}

function markIn(text, pattern, names, meanings, seen) {
  let from = 0;
  for (let rest = text; ;) {
    const found = pattern.exec(rest.textContent.slice(from));
    if (!found) return;
    const name = names[found.slice(1).findIndex(Boolean)];
    from += found.index;
    if (seen.has(name)) {
      from += found[0].length;
      continue;
    }
    seen.add(name);
    const own = rest.splitText(from);
    rest = own.splitText(found[0].length);
    from = 0;
    const link = document.createElement("a");
    link.className = "term";
    link.href = `#${meanings.get(name).id}`;
    own.replaceWith(link);
    link.append(own);
  }
}

function wireTerms() {
  if (!document.querySelector(".glossary")) return;
  markTerms();
  const help = document.createElement("div");
  help.id = "help";
  help.setAttribute("role", "tooltip");
  help.hidden = true;
  document.body.append(help);
  const show = (link) => {
    help.textContent = document.getElementById(link.hash.slice(1)).querySelector("dd").textContent;
    help.hidden = false;
    link.setAttribute("aria-describedby", "help");
    const { left, bottom, top } = link.getBoundingClientRect();
    help.style.left = `${Math.max(8, Math.min(left, innerWidth - help.offsetWidth - 16))}px`;
    const below = bottom + 6 + help.offsetHeight < innerHeight;
    help.style.top = `${below ? bottom + 6 : top - 6 - help.offsetHeight}px`;
  };
  const hide = () => {
    help.hidden = true;
    document.querySelector("[aria-describedby=help]")?.removeAttribute("aria-describedby");
  };
  for (const [enter, leave] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(enter, (event) => { const link = event.target.closest?.(".term"); if (link) show(link); });
    document.addEventListener(leave, (event) => { if (event.target.closest?.(".term")) hide(); });
  }
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true });
}
