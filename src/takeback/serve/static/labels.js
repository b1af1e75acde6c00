// Giving a turn a name of one's own.

import { Failure, post, within } from "./api.js";
import { askText } from "./dialog.js";
import { refresh } from "./workspace.js";
import { sentence } from "./words.js";

export function askLabel(turn) {
  askText({
    title: turn.label ? "Change the label" : "Label this place",
    about: "A label is a name for this place: every command takes it, and it is never pruned. Empty takes it off.",
    label: "Label",
    value: turn.label ?? "",
    maxlength: 100,
    go: "Save",
    done: (label) => save(turn.id, label),
  });
}

async function save(checkpoint, label) {
  try {
    await post(within("label"), { checkpoint, label: label || null });
    refresh();
    return null;
  } catch (error) {
    if (error instanceof Failure) return sentence(error);
    throw error;
  }
}
