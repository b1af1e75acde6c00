// A plan as one reads it: what is written and deleted, whose edits that takes, what stays.

import { el } from "./text.js";
import { button } from "./dialog.js";
import { lineCounts } from "./counts.js";
import { capital, count, firstLine } from "./words.js";

const FEW = 200; // paths that are listed at once
const TITLES = {
  rewind: { both: "Take back files and conversation", conversation: "Take back the conversation",
    files: "Take back the files" },
  revert: "Revert only this turn",
  fork: "Fork from here",
  summarise: "Summarise a part of the conversation",
  undo: "Undo the last operation",
  redo: "Redo what was undone",
};

export function planTitle(asked, plan) {
  const title = TITLES[asked.kind ?? "rewind"];
  return typeof title === "string" ? title : title[plan?.scope ?? asked.scope ?? "files"];
}

export function confirmWords(plan) {
  const files = plan.written.length + plan.deleted.length;
  if (plan.kind === "fork") return "Fork";
  if (plan.kind === "summarise") return plan.sending?.argv.length ? "Send it, and summarise" : "Summarise";
  if (plan.kind === "undo" || plan.kind === "redo") return `${capital(plan.kind)} it`;
  if (plan.scope === "conversation" || !files) return "Take back the conversation";
  if (plan.kind === "revert") return `Revert in ${count(files, "file")}`;
  return `Take back ${count(files, "file")}`;
}

/** Returns the parts of a plan; `again` asks for another one with more words. */
export function planContent(plan, asked, again) {
  return [
    el("p", { class: "plan-about" }, plan.question),
    el("p", { class: "plan-counts" }, ...counts(plan)),
    plan.sending && el("p", { class: "callout warn" }, sent(plan.sending)),
    asked.hunks && el("p", { class: "quiet" }, "Only what is ticked is taken back."),
    ...plan.warnings.map((words) => el("p", { class: "callout warn" }, capital(words))),
    mine(plan, asked, again),
    files(plan),
    folded("Left alone", plan.left_alone, (one) => pathRow(one, el("span", { class: "quiet" }, one.reason))),
    folded("Saved first: no checkpoint holds them", plan.saved, (one) => pathRow(one)),
    folded("Your edits that stay", plan.edits, (one) => pathRow(one)),
    folded("Outside the workspace, not taken back", plan.beyond, (one) => pathRow(one)),
    folded("Turns that it takes back", plan.turns, (one) =>
      el("li", { class: "path-row" }, el("span", { class: "quiet" }, one.turn ? `turn ${one.turn}` : "command"),
        el("span", { class: "path" }, firstLine(one.prompt)))),
    el("p", { class: "quiet" }, "Everything that is replaced is saved first. Undo brings it back."),
  ];
}

/** Says what of a conversation is sent to whom, to become a summary. */
function sent({ prompts, characters, kept, by, argv }) {
  const part = `${count(prompts, "prompt")} with all that followed, ${characters.toLocaleString("en")} characters`;
  const goes = argv.length ? `are sent to the model of: ${argv[0]}` : `become ${by}; takeback sends nothing`;
  return `${part}, ${goes}. ${count(kept, "prompt")} with all that followed stay as they are.`;
}

function counts(plan) {
  const moves = plan.scope !== "files" && plan.kind !== "undo" && plan.kind !== "redo";
  const parts = [
    moves && (plan.kind === "summarise" ? "a new session, the old one stays" : "the conversation is cut here, the old one stays"),
    plan.written.length && `${count(plan.written.length, "file")} written`,
    plan.deleted.length && `${count(plan.deleted.length, "file")} deleted`,
    plan.left_alone.length && `${count(plan.left_alone.length, "file")} left alone`,
  ].filter(Boolean);
  return [capital(parts.join(" · ") || "No file would change: they are as they were then")];
}

/** Says whose edits it would take, and offers to keep the person's own. */
function mine(plan, asked, again) {
  if (!plan.outside.length) return null;
  const keeps = plan.can_keep_edits && !asked.hunks
    ? button("Keep my edits", () => again({ keep: "edits" })) : null;
  return el("div", { class: "callout" },
    el("span", {}, `You changed ${count(plan.outside.length, "of these files", "of these files")} by your own hand since.`),
    keeps);
}

function files(plan) {
  const own = new Set(plan.outside.map((one) => one.path));
  const others = new Set(plan.others.map((one) => one.path));
  const rows = [...plan.written, ...plan.deleted];
  if (!rows.length) return null;
  return el("ul", { class: "paths", "aria-label": "What would change", tabindex: "0" },
    rows.slice(0, FEW).map((one) => pathRow(one,
      own.has(one.path) && el("span", { class: "chip mine" }, "your edit"),
      others.has(one.path) && el("span", { class: "chip warn" }, "another session"),
      one.sensitive && el("span", { class: "chip warn" }, "sensitive"),
      el("span", { class: "counts" }, ...lineCounts(one)),
      el("span", { class: `chip kind-${one.kind}` }, does(one)))),
    rows.length > FEW && el("li", { class: "quiet" }, `and ${count(rows.length - FEW, "more")}`.replace("mores", "more")));
}

function does(change) {
  return { added: "comes back", deleted: "deleted", mode: "permissions", type: "replaced" }[change.kind] ?? "written";
}

function pathRow(one, ...more) {
  return el("li", { class: "path-row" }, el("code", { class: "path" }, one.path), ...more);
}

function folded(title, rows, draw) {
  if (!rows.length) return null;
  const list = el("ul", { class: "paths", hidden: rows.length > 6 }, rows.slice(0, FEW).map(draw));
  const toggle = el("button", { class: "fold", type: "button", "aria-expanded": String(!list.hidden),
    onclick: () => {
      list.hidden = !list.hidden;
      toggle.setAttribute("aria-expanded", String(!list.hidden));
    } }, `${title} (${rows.length.toLocaleString("en")})`);
  return el("section", { class: "folded" }, toggle, list);
}
