// One file of a diff: its name, its counts, its hunks, and their ticks.

import { el } from "./text.js";
import { hunkLines } from "./diff_lines.js";
import { lineCounts } from "./counts.js";

const KINDS = { added: "new", deleted: "deleted", modified: "", mode: "permissions", type: "replaced" };

/** `ticks` is null where nothing can be ticked; `ticked(name)` is called after one was. */
export function fileSection(change, { ticks, split, open, toggle, ticked }) {
  return el("section", { class: "file", "aria-label": change.path },
    el("header", { class: "file-head" },
      ticks && tick(change.path, ticks.of(change.path), `All of ${change.path}`, (on) => {
        ticks.file(change.path, on);
        ticked(change.path);
      }),
      el("button", { class: "file-name", type: "button", "aria-expanded": String(open), onclick: toggle },
        el("code", { class: "path" }, change.path)),
      KINDS[change.kind] && el("span", { class: `chip kind-${change.kind}` }, KINDS[change.kind]),
      change.sensitive && el("span", { class: "chip warn" }, "sensitive"),
      change.who && el("span", { class: "quiet who-changed" }, change.who),
      el("span", { class: "counts" }, ...lineCounts(change))),
    open && hunks(change, { ticks, split, ticked }));
}

function hunks(change, { ticks, split, ticked }) {
  if (!change.hunks?.length) {
    return el("p", { class: "quiet no-lines" }, change.kind === "mode" ? "Only its permissions change." : "It has no lines to show.");
  }
  return el("div", { class: "hunks", tabindex: "0", role: "region", "aria-label": `Lines of ${change.path}` },
    change.hunks.map((hunk) => el("div", { class: "hunk" },
      el("div", { class: "hunk-head" },
        ticks && change.tickable && tick(`${change.path} ${hunk.number}`, ticks.has(change.path, hunk.number) ? "all" : "none",
          `Hunk ${hunk.number} of ${change.path}`, (on) => {
            ticks.hunk(change, hunk.number, on);
            ticked(`${change.path} ${hunk.number}`);
          }),
        el("span", { class: "quiet" }, hunk.header)),
      hunkLines(hunk, split))));
}

function tick(name, state, label, change) {
  const box = el("input", { type: "checkbox", class: "tick", "aria-label": label, "data-tick": name,
    checked: state === "all", onchange: (event) => change(event.target.checked) });
  box.indeterminate = state === "some";
  return box;
}
