// Every key of the page, in one table: what it does, and what `?` says about it.

import { ACTIONS, act, stepBack } from "./actions.js";
import { el } from "./text.js";
import { know, now } from "./store.js";
import { button, openDialog, openedDialog } from "./dialog.js";
import { openMenu } from "./menu.js";
import { step, toEnd } from "./timeline.js";
import { stepMessage } from "./transcript.js";
import { openChanges, toggleDirection, toggleSplit } from "./changes.js";
import { closeSearch, focusSearch } from "./search.js";
import { focusWorkspaces } from "./workspaces.js";
import { openOverview } from "./overview.js";
import { openPruning } from "./pruning.js";
import { switchTheme } from "./theme.js";
import { turnOf } from "./workspace.js";

const selected = () => turnOf(now().selected);
const conversation = () => know({ pane: "conversation", place: "pane" });

const KEYS = [
  ["Move", [
    ["j", "the next turn, older", () => step(1), "ArrowDown"],
    ["k", "the turn before, newer", () => step(-1), "ArrowUp"],
    ["g", "the newest turn", () => toEnd(false), "Home"],
    ["G", "the oldest turn that is loaded", () => toEnd(true), "End"],
    ["Enter", "the conversation at this turn", conversation],
    ["]", "your next message", () => stepMessage(1)],
    ["[", "your message before", () => stepMessage(-1)],
  ]],
  ["Look", [
    ["/", "search prompts and paths", focusSearch],
    ["m", "the conversation", conversation],
    ["d", "the changes", openChanges],
    ["o", "changes: what it did, or what going back does", toggleDirection],
    ["v", "changes: unified or split", toggleSplit],
    ["s", "coverage, disk use and agents", openOverview],
    ["p", "make room; the trash", openPruning],
    ["w", "the workspaces", focusWorkspaces],
  ]],
  ["Take back", [
    ["t", "all that can be done at this turn", menu],
    ...ACTIONS.filter((one) => one.name !== "changes").map((one) => [one.key, one.title.replace("…", ""), () => act(one.name, selected())]),
    ["u", "undo the last operation", () => stepBack("undo")],
    ["U", "redo what was undone", () => stepBack("redo")],
  ]],
  ["The page", [
    ["T", "light or dark", switchTheme],
    ["Esc", "close; it never changes anything", escape, "Escape"],
    ["?", "this list", openHelp],
  ]],
];
const BY_KEY = new Map(KEYS.flatMap(([, rows]) => rows.flatMap(([key, , does, other]) => [[key, does], [other, does]])));

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
    const dialog = openedDialog();
    if (dialog) return closeAtEscape(dialog, event);
    const target = event.target;
    // Where one types, letters are letters; a button keeps its own Enter and arrows.
    if (target.matches("input[type=text], input[type=search], select, textarea")) return undefined;
    if (event.key.length > 1 && event.key !== "Escape" && !isList(target)) return undefined;
    const does = BY_KEY.get(event.key);
    if (!does) return undefined;
    event.preventDefault();
    return does();
  });
}

/** Of all keys of the page only Esc means something while a question is open. */
function closeAtEscape(dialog, event) {
  if (event.key !== "Escape") return;
  event.preventDefault();
  dialog.close();
}

/** Tells whether arrows and Enter are the timeline's: there, or where nothing has the focus. */
function isList(target) {
  return target === document.body || target.id === "timeline";
}

function menu() {
  const turn = selected();
  const beside = document.querySelector(".message.chosen .take-back") ?? document.querySelector(".row.chosen");
  if (turn && beside) openMenu(beside, turn);
}

function escape() {
  if (closeSearch()) return;
  if (now().pane === "changes") know({ pane: "conversation" });
  else know({ place: "timeline" });
}

export function openHelp() {
  const box = openDialog({ title: "Keys", wide: true });
  box.show({
    content: el("div", { class: "help" }, KEYS.map(([title, rows]) => el("section", {}, el("h3", {}, title),
      el("dl", { class: "keys" }, rows.flatMap(([key, words]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, words)]))))),
    actions: [button("Close", box.close, { first: true })],
  });
}
