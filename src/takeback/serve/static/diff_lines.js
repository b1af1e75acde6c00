// The lines of a hunk, one below the other or side by side. The server has cut them into tokens;
// their classes are names of ours, and the words are text.

import { el, lines } from "./text.js";

const MOST = 600; // lines of one hunk that are drawn at once

/** Makes the table of a hunk. */
export function hunkLines(hunk, split) {
  const rows = split ? pairs(hunk.lines).map(pairRow) : hunk.lines.map(lineRow);
  const body = el("tbody", {}, rows.slice(0, MOST));
  const sides = split ? ["number", "sign", "text", "number", "sign", "text"] : ["number", "number", "sign", "text"];
  const columns = el("colgroup", {}, sides.map((name) => el("col", { class: `col-${name}` })));
  const table = el("table", { class: split ? "code split" : "code", "aria-label": hunk.header }, columns, body);
  if (rows.length <= MOST) return table;
  const rest = el("button", { class: "link", type: "button", onclick: () => {
    body.append(...rows.slice(MOST));
    rest.remove();
  } }, `Show ${(rows.length - MOST).toLocaleString("en")} more lines`);
  return el("div", {}, table, rest);
}

function lineRow(line) {
  const kind = kindOf(line);
  return el("tr", { class: kind },
    el("td", { class: "number" }, line.old ?? ""),
    el("td", { class: "number" }, line.new ?? ""),
    el("td", { class: "sign" }, sign(kind)),
    el("td", { class: "text" }, ...words(line)));
}

function pairRow([old, made]) {
  return el("tr", {}, ...half(old, "old"), ...half(made, "new"));
}

function half(line, side) {
  if (!line) return [el("td", { class: "number none" }), el("td", { class: "text none", colspan: "2" })];
  const kind = kindOf(line);
  return [
    el("td", { class: `number ${kind}` }, line[side] ?? ""),
    el("td", { class: `sign ${kind}` }, sign(kind)),
    el("td", { class: `text ${kind}` }, ...words(line)),
  ];
}

/** Puts lines that went beside those that came. */
function pairs(rows) {
  const found = [];
  let [gone, come] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, come.length); at += 1) found.push([gone[at], come[at]]);
    [gone, come] = [[], []];
  };
  for (const line of rows) {
    if (line.kind === "-") gone.push(line);
    else if (line.kind === "+") come.push(line);
    else {
      flush();
      found.push([line, line]);
    }
  }
  flush();
  return found;
}

function kindOf(line) {
  return { "+": "add", "-": "del" }[line.kind] ?? "same";
}

function sign(kind) {
  return { add: "+", del: "−" }[kind] ?? "";
}

function words(line) {
  const made = line.tokens
    ? line.tokens.map(([name, text]) => (name ? el("span", { class: `tok-${String(name).replace(/[^a-z]/gi, "")}` }, lines(text)) : lines(text)))
    : [lines(line.text)];
  return line.no_newline ? [...made, el("span", { class: "quiet" }, " (no newline at the end)")] : made;
}

