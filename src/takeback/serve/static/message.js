// One message. A message of the person has the small control: it takes back to before it.

import { el, lines } from "./text.js";
import { know, now } from "./store.js";
import { openMenu } from "./menu.js";
import { currentSession } from "./workspace.js";
import { prose } from "./prose.js";
import { lineCounts } from "./counts.js";
import { capital, count, firstLine, labelOf, when } from "./words.js";

const NAMES = { user: "You", assistant: "Agent", system: "Note", tool: "Tool" };

/** Makes the row of a message; `unfold` shows and hides what is folded. */
export function messageRow(message, index, { turn, unfolded, unfold }) {
  if (message.role === "tool") return toolRow(message, index, { unfolded, unfold });
  const chosen = turn && now().selected === turn.id;
  return el(
    "article",
    {
      class: `message ${roleOf(message)}${chosen ? " chosen" : ""}`,
      tabindex: message.role === "user" ? "0" : null,
      "data-index": String(index),
      "data-place": turn?.id,
      "aria-label": `${nameOf(message)}: ${firstLine(message.text).slice(0, 80)}`,
    },
    el("header", { class: "message-head" },
      el("span", { class: "who" }, nameOf(message)),
      el("span", { class: "quiet" }, [message.turn && `turn ${message.turn}`, when(message.time)].filter(Boolean).join(" · ")),
      turn && control(turn)),
    el("div", { class: "message-text" }, message.role === "user" ? plain(message.text) : prose(message.text)),
    message.cut && el("p", { class: "quiet" }, "The rest of this message is too long to show."),
    turn && did(turn),
  );
}

function roleOf(message) {
  return message.role in NAMES ? message.role : "system";
}

function nameOf(message) {
  const agent = message.role === "assistant" ? currentSession()?.agent : null;
  return agent ? capital(agent) : NAMES[roleOf(message)];
}

function plain(text) {
  const made = el("p", { class: "said" });
  made.append(lines(text));
  return made;
}

function control(turn) {
  return el("button", { class: "take-back", type: "button", "aria-haspopup": "menu", title: "Take back to before this message (t)",
    onclick: (event) => openMenu(event.currentTarget, turn) },
  "Take back to here", el("span", { "aria-hidden": "true" }, " ▾"));
}

/** Says what came of a message: how many files, and a way to look at them. */
function did(turn) {
  if (turn.state === "running") return el("p", { class: "did" }, el("span", { class: "chip running" }, "running"));
  if (!turn.changed.length) return null;
  return el("p", { class: "did" },
    el("button", { class: "link", type: "button",
      onclick: () => know({ selected: turn.id, pane: "changes", place: "pane" }) },
    `Changed ${count(turn.changed.length, "file")}`),
    el("span", { class: "counts" }, ...lineCounts(turn)),
    turn.label && el("span", { class: "chip label" }, labelOf(turn)));
}

/** Returns what a tool was given, with paths from the workspace on. */
function fromRoot(text) {
  const root = now().workspaces?.find((one) => one.id === now().workspace)?.path;
  return root ? text.replaceAll(`${root}/`, "") : text;
}

function toolRow(message, index, { unfolded, unfold }) {
  const tool = message.tool ?? { name: "tool", input: "", failed: false };
  const body = el("pre", { class: "tool-text", hidden: !unfolded, tabindex: "0" });
  if (unfolded) body.append(lines([tool.input, message.text].filter(Boolean).join("\n\n")));
  return el(
    "article",
    { class: "message tool", "data-index": String(index), "aria-label": `Tool: ${tool.name}` },
    el("button", { class: "tool-line", type: "button", "aria-expanded": String(unfolded), onclick: unfold },
      el("span", { class: "tool-name" }, tool.name),
      el("code", { class: "tool-input" }, fromRoot(firstLine(tool.input))),
      tool.failed && el("span", { class: "chip warn" }, "failed")),
    body,
  );
}
