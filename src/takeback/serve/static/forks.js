// Forking into a directory of its own: its name is one word, and it is made beside the workspace.

import { askText } from "./dialog.js";
import { now } from "./store.js";
import { propose } from "./plan.js";

const NAME = /^[A-Za-z0-9._-]{1,100}$/;

export function askDirectory(turn) {
  const path = now().workspaces?.find((one) => one.id === now().workspace)?.path ?? "workspace";
  const name = path.split("/").filter(Boolean).at(-1) ?? "workspace";
  askText({
    title: "Fork into a new directory",
    about: `It is made beside ${path}, with the files and the conversation of this place; nothing here changes.`,
    label: "Name of the directory",
    suggested: NAME.test(name) ? `${name}-${turn.turn ?? 2}` : "",
    maxlength: 100,
    go: "Show the plan",
    done: (directory) => {
      if (!NAME.test(directory)) return "Letters, digits, dots, dashes and underscores only.";
      // After the dialog has closed: one question at a time.
      queueMicrotask(() => propose({ kind: "fork", target: turn.id, directory }));
      return null;
    },
  });
}
