// What a model wrote, with the little of its markup that helps reading: fenced code, headings,
// lists, `code` and **strong**. Links and pictures stay as they were written: nothing can be
// followed from here, and nothing is loaded.

import { el, lines } from "./text.js";

const FENCE = /^\s*(```|~~~)/;
const HEADING = /^(#{1,4})\s+(.*)$/;
const ITEM = /^\s*(?:[-*+]|\d{1,3}[.)])\s+/;
const MARKED = /(`[^`\n]+`|\*\*[^*\n]+\*\*)/;

/** Returns the blocks of a text as elements. */
export function prose(text) {
  const blocks = [];
  let paragraph = [];
  let code = null;
  const flush = () => {
    if (paragraph.length) blocks.push(block(paragraph));
    paragraph = [];
  };
  for (const line of String(text).split("\n")) {
    if (FENCE.test(line)) {
      if (code === null) flush();
      else blocks.push(codeBlock(code));
      code = code === null ? [] : null;
    } else if (code !== null) {
      code.push(line);
    } else if (!line.trim()) {
      flush();
    } else if (HEADING.test(line)) {
      flush();
      blocks.push(el("p", { class: "heading" }, ...inline(HEADING.exec(line)[2])));
    } else {
      paragraph.push(line);
    }
  }
  flush();
  if (code !== null) blocks.push(codeBlock(code)); // the fence was never closed
  return blocks;
}

function block(rows) {
  if (!rows.every((row) => ITEM.test(row) || /^\s/.test(row)) || !ITEM.test(rows[0])) {
    return el("p", { class: "said" }, ...inline(rows.join("\n")));
  }
  const items = [];
  for (const row of rows) {
    if (ITEM.test(row)) items.push(row.replace(ITEM, ""));
    else items[items.length - 1] += `\n${row.trim()}`;
  }
  const ordered = /^\s*\d/.test(rows[0]);
  return el(ordered ? "ol" : "ul", { class: "said" }, items.map((item) => el("li", {}, ...inline(item))));
}

function codeBlock(rows) {
  const made = el("pre", { class: "said-code", tabindex: "0" });
  made.append(lines(rows.join("\n")));
  return made;
}

function inline(text) {
  return text.split(MARKED).filter(Boolean).map((part) => {
    if (/^`[^`\n]+`$/.test(part)) return el("code", {}, part.slice(1, -1));
    if (/^\*\*[^*\n]+\*\*$/.test(part)) return el("strong", {}, part.slice(2, -2));
    return lines(part);
  });
}
