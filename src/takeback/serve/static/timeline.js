// The timeline: one row for each turn, newest first, with its lane. What a search found stands in
// its place until the search is closed.

import { drawn, el, fill } from "./text.js";
import { know, now, watch } from "./store.js";
import { Windowed } from "./windowed.js";
import { lanesOf, piecesOf } from "./lanes.js";
import { older, turnOf } from "./workspace.js";
import { count, firstLine, labelOf, numberOf, titleOf, when } from "./words.js";
import { openMenu } from "./menu.js";
import { lineCounts } from "./counts.js";

const HEIGHT = 56;
let list;
let rowAt = null;
let rows = [];
let revealed = null; // the turn that was brought into sight last
let rowsOf = null; // the turns that the rows were made of

export function startTimeline(scroller) {
  list = new Windowed(scroller, { guess: HEIGHT, draw, want, measured: false });
  scroller.addEventListener("click", onClick);
  scroller.addEventListener("dblclick", () => know({ pane: "conversation", place: "pane" }));
  watch(["turns", "sessions", "more"], () => (rowAt = null));
  watch(["turns", "sessions", "more", "found", "loaded", "status"], show);
  watch(["place"], reveal); // on a narrow screen it was out of sight until now
  watch(["selected"], ({ selected }) => {
    list.each((row) => {
      row.classList.toggle("chosen", row.dataset.place === selected);
      row.setAttribute("aria-selected", String(row.dataset.place === selected));
    });
    reveal();
  });
}

/** Moves the selection by some rows; beyond an end it stays. */
export function step(by) {
  const all = shown();
  const at = all.findIndex((row) => placeOf(row) === now().selected);
  const next = Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by));
  if (all.length) know({ selected: placeOf(all[next]) });
}

export function toEnd(oldest) {
  step(oldest ? Infinity : -Infinity);
}

/** Shows the rows anew; those that were in sight stay there while others come above them. */
function show() {
  const top = list.row(list.at(list.scroller.scrollTop))?.dataset.place;
  const { length } = shown();
  list.scroller.setAttribute("aria-busy", String(!now().loaded));
  list.show(length, { keep: true });
  list.scroller.querySelector(".empty")?.remove();
  if (!length) list.scroller.append(empty());
  if (revealed !== now().selected) return reveal();
  const at = list.scroller.scrollTop > 0 ? shown().findIndex((row) => placeOf(row) === top) : -1;
  if (at >= 0) list.scroller.scrollTop = at * HEIGHT + (list.scroller.scrollTop % HEIGHT);
  return undefined;
}

// A session that was cut from another and has not gone on yet is no row of its own.
function shown() {
  if (now().found) return now().found;
  if (rowsOf !== now().turns) {
    rowsOf = now().turns;
    rows = rowsOf.filter((turn) => turn.kind !== "fork");
  }
  return rows;
}

function placeOf(row) {
  return row.place ?? row.id;
}

function reveal() {
  const at = shown().findIndex((row) => placeOf(row) === now().selected);
  const option = at < 0 ? null : `row-${at}`;
  if (option && list.scroller.offsetParent) {
    list.reveal(at);
    revealed = now().selected;
  }
  if (option) list.scroller.setAttribute("aria-activedescendant", option);
  else list.scroller.removeAttribute("aria-activedescendant");
}

function want(first, last) {
  if (now().found === null && last > shown().length - 60) older();
}

function onClick(event) {
  const row = event.target.closest(".row");
  if (!row) return;
  know({ selected: row.dataset.place });
  if (event.target.closest(".row-more")) openMenu(row, turnOf(row.dataset.place));
  else if (event.detail < 2 && matchMedia("(max-width: 760px)").matches) know({ place: "pane" });
}

function draw(at) {
  const found = now().found?.[at];
  return found ? foundRow(found, at) : turnRow(shown()[at], at);
}

function option(place, at, ...children) {
  const chosen = place === now().selected;
  return el(
    "div",
    {
      class: chosen ? "row chosen" : "row",
      id: `row-${at}`,
      role: "option",
      "aria-selected": String(chosen),
      "data-place": place,
    },
    ...children,
  );
}

function turnRow(turn, at) {
  rowAt ??= lanesOf(shown(), now().sessions, now().more === null);
  const here = now().status?.here;
  const quiet = turn.prompt === null;
  return option(
    turn.id,
    at,
    lane(rowAt(at), turn),
    el(
      "div",
      { class: "row-words" },
      el(
        "div",
        { class: "row-title" },
        el("span", { class: quiet ? "title quiet" : "title" }, titleOf(turn)),
        turn.label && turn.prompt && el("span", { class: "chip label" }, labelOf(turn)),
        badge(turn),
        here?.id === turn.id && el("span", { class: "chip here" }, `files are ${placeWord(here)}`),
      ),
      el("div", { class: "row-meta" }, ...meta(turn)),
    ),
    // For the mouse alone: an option of a list has no controls of its own, the keyboard has `t`.
    el("span", { class: "row-more", "aria-hidden": "true", title: "Take back to here… (t)" }, "⋯"),
  );
}

function placeWord(here) {
  return here.place === "at" ? "here" : `${here.place} it`;
}

function badge(turn) {
  if (turn.state === "running" || turn.state === "background") {
    return el("span", { class: "chip running" }, turn.state === "running" ? "running" : "in background");
  }
  if (turn.expired) return el("span", { class: "chip" }, "files expired");
  if (turn.state === "unfinished") return el("span", { class: "chip warn" }, "unfinished");
  if (!turn.complete) return el("span", { class: "chip warn" }, "incomplete");
  if (turn.below) return el("span", { class: "chip" }, "begun by a model");
  return turn.late ? el("span", { class: "chip warn" }, "late") : null;
}

function meta(turn) {
  const parts = [numberOf(turn), turn.agent, when(turn.time)].filter(Boolean);
  const made = [el("span", {}, parts.join(" · "))];
  if (turn.changed.length) {
    made.push(el("span", { class: "sep" }, "·"), el("span", {}, count(turn.changed.length, "file")));
    made.push(...lineCounts(turn));
  }
  if (turn.outside.length) {
    made.push(el("span", { class: "sep" }, "·"), el("span", { class: "by-hand" },
      `${turn.outside.length} by hand before`));
  }
  return made;
}

function lane(row, turn) {
  const { pieces, dot, width } = piecesOf(row, HEIGHT);
  const kind = turn.kind === "prompt" ? "turn" : "step";
  return drawn(
    "svg",
    { class: "lanes", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" },
    pieces.map((piece) => drawn("path", { class: `lane lane-${piece.lane}`, d: piece.d })),
    drawn("circle", { class: `dot dot-${kind} lane-${row.own}`, cx: dot.x, cy: dot.y, r: kind === "turn" ? 5 : 3 }),
  );
}

function foundRow(found, at) {
  const parts = [found.turn ? `turn ${found.turn}` : "", found.agent, when(found.time)];
  return option(
    found.place,
    at,
    el(
      "div",
      { class: "row-words" },
      el("div", { class: "row-title" }, found.what === "prompt"
        ? el("span", { class: "title" }, firstLine(found.text))
        : el("code", { class: "title" }, found.path ?? found.text)),
      el("div", { class: "row-meta" }, [found.change ?? found.what, ...parts].filter(Boolean).join(" · ")),
    ),
  );
}

function empty() {
  const box = el("div", { class: "empty" });
  if (now().found) {
    return fill(box, el("h2", {}, "Nothing found"), el("p", {},
      "No prompt and no path has all of these words. Esc shows every turn again."));
  }
  if (!now().loaded) return fill(box, el("p", { class: "quiet" }, "Reading the timeline…"));
  return fill(
    box,
    el("h2", {}, "No turns yet"),
    el("p", {}, "The first prompt that you give an agent in this directory appears here by itself."),
    el("p", {}, "Not connected yet? In a terminal: ", el("code", {}, "takeback init")),
  );
}
