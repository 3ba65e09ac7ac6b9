// Where links of a page lead, and what copies them.

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

// A link leads below the header, however many rows the names of the sections take.
function clearHeader() {
  const header = document.querySelector(".top");
  const sticks = () => getComputedStyle(header).position === "sticky";
  const clear = () => { root.style.scrollPaddingTop = sticks() ? `${header.offsetHeight + 8}px` : ""; };
  new ResizeObserver(clear).observe(header);
  clear();
}

function wireLinks() {
  clearHeader();
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button.parentElement.querySelector("code").textContent, button));
  }
  for (const link of document.querySelectorAll(".mark-link")) {
    link.addEventListener("click", () => setTimeout(() => copy(location.href, link)));
  }
}
