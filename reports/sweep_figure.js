"use strict";
/* Colors and files of a figure. Nothing here reads the page. */

// Cividis (Nunez, Anderton and Renslow, 2018): read alike with and without color vision.
const SEQUENTIAL = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
// PuOr of ColorBrewer, marked colorblind safe: orange starves, purple takes all, white is fair.
const DIVERGING = ["#7f3b08", "#b35806", "#e08214", "#fdb863", "#fee0b6", "#f7f7f7", "#d8daeb", "#b2abd2", "#8073ac", "#542788", "#2d004b"];

function rgb(hex) { return [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16)); }

function color(palette, part) {
  const place = Math.min(Math.max(part, 0), 1) * (palette.length - 1);
  const low = Math.min(Math.floor(place), palette.length - 2);
  const [a, b] = [rgb(palette[low]), rgb(palette[low + 1])];
  return a.map((channel, at) => Math.round(channel + (b[at] - channel) * (place - low)));
}

// Relative luminance of WCAG 2; text is black or white, whichever has the larger contrast.
function ink(channels) {
  const [r, g, b] = channels.map(c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

function css(channels) { return `rgb(${channels.join(",")})`; }

function xml(text) {
  return String(text).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
}

// A spreadsheet takes a field that begins so for a formula.
function field(value) {
  let text = String(value ?? "");
  if (/^[=+@\t\r-]/.test(text) && !/^-?[\d.]+(e[+-]?\d+)?$/i.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvOf(rows) { return rows.map(row => row.map(field).join(",")).join("\r\n") + "\r\n"; }

function cut(label) { return label.length > 24 ? `${label.slice(0, 23)}…` : label; }

// The maps side by side as one SVG file: maps = [{caption, columns, rows, cells: [[{text, fill}]]}].
function svgOf(title, xName, yName, maps, inRow) {
  const [h, gap, head] = [26, 26, 44];
  const wide = (values, least) => Math.max(least, 14 + 7 * Math.max(...values.map(value => cut(value).length)));
  const w = wide(maps.flatMap(map => map.columns), 58), left = wide(maps.flatMap(map => map.rows), 92);
  const across = Math.min(maps.length, Math.max(inRow, 1), 4);
  const most = key => Math.max(...maps.map(map => map[key].length));
  const width = most("columns") * w + left + gap, height = most("rows") * h + head + 34;
  const parts = maps.map((map, number) => {
    const at = [(number % across) * width + 10, Math.floor(number / across) * height + 30];
    const text = (x, y, anchor, value, fill = "#000000", weight = 400) =>
      `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${fill}" font-weight="${weight}">${xml(value)}</text>`;
    const cells = map.cells.flatMap((row, r) => row.map((cell, c) => cell
      ? `<rect x="${left + c * w}" y="${head + r * h}" width="${w - 1}" height="${h - 1}" fill="${css(cell.fill)}"/>`
        + text(left + c * w + w / 2, head + r * h + 17, "middle", cell.text, ink(cell.fill)) : ""));
    return `<g transform="translate(${at})">` + text(left, 14, "start", map.caption, "#000000", 600)
      + map.columns.map((value, c) => text(left + c * w + w / 2, head - 8, "middle", cut(value))).join("")
      + map.rows.map((value, r) => text(left - 6, head + r * h + 17, "end", cut(value))).join("")
      + text(left + map.columns.length * w / 2, head + map.rows.length * h + 14, "middle", xName)
      + text(6, head - 8, "start", yName) + cells.join("") + "</g>";
  });
  const size = [across * width + 20, Math.ceil(maps.length / across) * height + 40];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}" height="${size[1]}" viewBox="0 0 ${size.join(" ")}" `
    + `font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>`
    + `<text x="10" y="20" font-size="15" font-weight="600">${xml(title)}</text>${parts.join("")}</svg>`;
}

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.-]+/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Twice the size, for print.
function savePng(name, svg) {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([svg], {type: "image/svg+xml"}));
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width * 2, image.height * 2];
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    canvas.toBlob(blob => save(name, blob), "image/png");
    URL.revokeObjectURL(url);
  };
  image.src = url;
}
