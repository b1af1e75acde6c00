// What can be done at a turn: one table, for the small control, the menu and the keys.

import { know } from "./store.js";
import { propose } from "./plan.js";
import { askLabel } from "./labels.js";
import { askDirectory } from "./forks.js";

/** `request` is what the plan is asked for; `needs` is what it cannot do without. */
export const ACTIONS = [
  { name: "both", key: "b", title: "Files and conversation",
    request: (turn) => ({ kind: "rewind", target: turn.id, scope: "both" }), needs: "talk files" },
  { name: "conversation", key: "c", title: "The conversation only",
    request: (turn) => ({ kind: "rewind", target: turn.id, scope: "conversation" }), needs: "talk" },
  { name: "files", key: "f", title: "The files only",
    request: (turn) => ({ kind: "rewind", target: turn.id, scope: "files" }), needs: "files" },
  { name: "edits", key: "e", title: "The files, but keep my edits",
    request: (turn) => ({ kind: "rewind", target: turn.id, scope: "files", keep: "edits" }), needs: "files" },
  { name: "revert", key: "r", title: "Revert only this turn, keep later ones", group: true,
    request: (turn) => ({ kind: "revert", turns: [turn.id] }), needs: "turn files" },
  { name: "fork", key: "x", title: "Fork from here: a new session",
    request: (turn) => ({ kind: "fork", target: turn.id }), needs: "talk" },
  { name: "directory", key: "n", title: "Fork into a new directory…", ask: askDirectory, needs: "talk files" },
  { name: "summarise", key: "a", title: "Summarise from here on: a new session",
    request: (turn) => ({ kind: "summarise", target: turn.id, way: "from" }), needs: "talk" },
  { name: "summarise-up-to", key: "z", title: "Summarise up to here: a new session",
    request: (turn) => ({ kind: "summarise", target: turn.id, way: "up-to" }), needs: "talk" },
  { name: "changes", key: "d", title: "Changes, to tick files and hunks", group: true,
    ask: () => know({ pane: "changes", place: "pane" }), needs: "" },
  { name: "label", key: "l", title: "Label…", ask: askLabel, needs: "" },
  { name: "copy", key: "y", title: "Copy its id",
    ask: (turn) => navigator.clipboard.writeText(turn.id), needs: "" },
];

const NEEDS = {
  talk: (turn) => (turn.agent ? "" : "there is no conversation"),
  files: (turn) => (turn.expired ? "its files have expired" : ""),
  turn: (turn) => (turn.state ? "" : "it is in no turn of an agent"),
};

/** Returns why an action is not possible at a turn; empty if it is. */
export function obstacle(action, turn) {
  return action.needs.split(" ").map((need) => NEEDS[need]?.(turn) ?? "").find(Boolean) ?? "";
}

/** Does an action at a turn: most of them show a plan first. */
export function act(name, turn) {
  const action = ACTIONS.find((one) => one.name === name);
  if (!turn || !action || obstacle(action, turn)) return;
  know({ selected: turn.id });
  if (action.request) propose(action.request(turn));
  else action.ask(turn);
}

/** Takes the newest operation back, or does it again. */
export function stepBack(kind) {
  propose({ kind });
}
