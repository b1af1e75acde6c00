// What a turn changed, or what going back before it would change now. In the latter, files and hunks
// can be ticked: only those are then taken back.

import { get, within } from "./api.js";
import { el, fill } from "./text.js";
import { know, now, watch } from "./store.js";
import { Ticks } from "./ticks.js";
import { propose } from "./plan.js";
import { fileSection } from "./file_section.js";
import { attempt, turnOf } from "./workspace.js";
import { count, titleOf } from "./words.js";

let box;
let shown = null; // turn and direction that are drawn
let diff = null;
let ticks = new Ticks();
let view = { to: "after", split: false };

export function startChanges(element) {
  box = element;
  watch(["selected", "stray", "pane", "turns"], load);
  watch(["turns"], () => shown && view.to === "now" && load({ again: true }));
}

/** Shows lines one below the other or side by side, and says which. */
export function toggleSplit() {
  view = { ...view, split: !view.split };
  draw();
}

/** Changes between what the turn did and what going back would do. */
export function toggleDirection() {
  view = { ...view, to: view.to === "after" ? "now" : "after" };
  load();
}

async function load({ again = false } = {}) {
  if (now().pane !== "changes") return;
  const turn = turnOf(now().selected);
  if (!turn) return drawNothing("Choose a turn", "Its changes appear here.");
  const key = `${turn.id} ${view.to} ${turn.state} ${turn.changed.length}`;
  if (key === shown && !again) return;
  if (key !== shown) {
    ticks = new Ticks();
    drawWaiting(turn);
  }
  shown = key;
  const answer = await attempt(() => get(within("checkpoints", turn.id, "diff"), { to: view.to, colour: true }));
  if (shown !== key || !answer) return;
  const open = new Set(diff?.key === key ? diff.open : answer.changes.filter((one) => one.hunks).map((one) => one.path));
  diff = { ...answer, key, open };
  draw();
}

function draw() {
  const turn = turnOf(now().selected);
  if (!turn || !diff) return;
  const going = view.to === "now";
  fill(
    box,
    el("header", { class: "changes-head" },
      el("h2", { class: "changes-title" }, titleOf(turn)),
      el("div", { class: "switches" },
        choice("What is shown", [["after", "What it changed"], ["now", "What going back changes"]], view.to, toggleDirection),
        choice("How", [[false, "Unified"], [true, "Split"]], view.split, toggleSplit))),
    diff.purged?.length ? el("p", { class: "callout warn" }, `${count(diff.purged.length, "file")} purged: nothing is held of them any more.`) : null,
    going && diff.changes.length > 0 && el("p", { class: "quiet" }, "Tick files or hunks to take back only those."),
    diff.changes.length ? sections(going) : nothing(going),
    going && diff.changes.length > 0 && takeBar(turn),
  );
}

function sections(going) {
  return el("div", { class: "files" }, diff.changes.map((change) => fileSection(change, {
    ticks: going ? ticks : null,
    split: view.split,
    open: diff.open.has(change.path),
    toggle: () => toggleFile(change),
    ticked: (focus) => {
      draw();
      box.querySelector(`[data-tick="${CSS.escape(focus)}"]`)?.focus();
    },
  })));
}

async function toggleFile(change) {
  if (diff.open.delete(change.path)) return draw();
  diff.open.add(change.path);
  if (change.hunks === null) await readHunks(change);
  draw();
  return undefined;
}

async function readHunks(change) {
  const checkpoint = now().selected;
  const answer = await attempt(() => get(within("checkpoints", checkpoint, "diff"), { to: view.to, path: change.path, colour: true }));
  // what a turn did to a file that another session changed meanwhile is several changes of one path
  for (const one of diff.changes.filter((other) => other.path === change.path)) {
    Object.assign(one, { hunks: [], ...answer?.changes.find((found) => found.number === one.number) });
  }
}

function takeBar(turn) {
  const { files, hunks } = ticks.counts();
  const parts = [files && count(files, "file"), hunks && count(hunks, "hunk")].filter(Boolean);
  return el("footer", { class: "take-bar" },
    el("button", { type: "button", onclick: () => tickAll(!allTicked()) }, allTicked() ? "Untick all" : "Tick all"),
    el("button", { class: "primary", type: "button", disabled: ticks.empty, id: "take-ticked",
      onclick: () => propose({ kind: "rewind", target: turn.id, scope: "files", ...ticks.words(diff.changes) }) },
    parts.length ? `Take back ${parts.join(" and ")}…` : "Nothing is ticked"));
}

function allTicked() {
  return diff.changes.every((change) => ticks.of(change.path) === "all");
}

function tickAll(on) {
  for (const change of diff.changes) ticks.file(change.path, on);
  draw();
}

function choice(label, options, chosen, change) {
  return el("div", { class: "segments", role: "group", "aria-label": label }, options.map(([value, words]) =>
    el("button", { type: "button", "aria-pressed": String(value === chosen),
      onclick: () => value !== chosen && change() }, words)));
}

function nothing(going) {
  return el("div", { class: "empty" },
    el("h2", {}, going ? "The files are as they were then" : "This turn changed no file"),
    el("p", {}, going ? "Going back here would write and delete nothing." : "Going back before it may still take back later turns: see “What going back changes”."));
}

function drawWaiting(turn) {
  diff = null;
  fill(box, el("header", { class: "changes-head" }, el("h2", { class: "changes-title" }, titleOf(turn))),
    el("p", { class: "quiet", role: "status" }, "Reading the changes…"));
}

function drawNothing(title, words) {
  shown = diff = null;
  fill(box, el("div", { class: "empty" }, el("h2", {}, title), el("p", {}, words)));
}

/** Opens the changes of the selected turn. */
export function openChanges() {
  know({ pane: "changes", place: "pane" });
}
