"use strict";
// What every script of a page needs: colours of the theme, and what lies gzipped in the page.

const root = document.documentElement;
let printing = false;

function isDark() {
  if (printing) return false;
  const chosen = root.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// Colours of the style sheet, looked up once per theme.
const styleColours = new Map();
function colour(name) {
  const key = `${name} ${isDark()}`;
  if (!styleColours.has(key)) {
    const probe = document.createElement("i");
    // A dark system still shows its dark colours while `beforeprint` runs.
    probe.style.colorScheme = isDark() ? "dark" : "light";
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    styleColours.set(key, getComputedStyle(probe).color);
    probe.remove();
  }
  return styleColours.get(key);
}

// What lies gzipped in the page, as text.
async function unpacked(id) {
  const element = document.getElementById(id);
  const text = element.textContent;
  const bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  element.remove();
  return new Response(stream).text();
}

// The button that changes the theme; `changed` draws everything in its colours.
function wireTheme(changed) {
  const button = document.getElementById("theme");
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  const follow = () => { label(); changed(); };
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("l4strace-theme", root.dataset.theme); } catch { /* no storage */ }
    follow();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", follow);
}
