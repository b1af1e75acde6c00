// What was done, at the bottom of the page, with the way back and the line that goes on with the
// conversation. Nothing is started from here: the line is text to copy.

import { el, fill } from "./text.js";
import { know, watch } from "./store.js";
import { stepBack } from "./actions.js";
import { count } from "./words.js";

const DONE = { rewind: "Taken back", revert: "Reverted", fork: "Forked", summarise: "Summarised", undo: "Undone", redo: "Redone" };

export function startOutcome(bar) {
  watch(["done"], ({ done }) => {
    bar.hidden = done === null;
    if (done) fill(bar, ...content(done));
  });
}

function content(done) {
  const wayBack = done.kind === "undo" ? "redo" : "undo";
  return [
    el("div", { class: "done-words", role: "status" },
      el("strong", {}, DONE[done.kind] ?? "Done"),
      el("span", {}, summary(done)),
      done.conversation_error && el("span", { class: "chip warn" }, `the conversation stayed: ${done.conversation_error}`),
      done.directory && el("code", {}, done.directory),
      done.directory && el("span", { class: "quiet" }, "ignored files stay behind"),
      named("outside the workspace, not taken back", done.beyond),
      named("your own edits, kept", done.edits)),
    done.resume?.argv?.length ? goesOn(done.resume) : null,
    done.prompt ? copyButton("Copy the prompt", done.prompt) : null,
    hasWayBack(done) && el("button", { type: "button", class: "primary", id: "undo",
      onclick: () => stepBack(wayBack) }, wayBack === "undo" ? "Undo" : "Redo"),
    el("button", { type: "button", class: "ghost", "aria-label": "Dismiss", onclick: () => know({ done: null }) }, "✕"),
  ];
}

/** A session that was begun beside the others took nothing away. */
function hasWayBack(done) {
  const begins = done.kind === "fork" || done.kind === "summarise";
  return done.operation && !(begins && (done.scope !== "both" || done.directory));
}

function summary(done) {
  const parts = [
    done.written.length && `${count(done.written.length, "file")} written`,
    done.deleted.length && `${done.deleted.length} deleted`,
    done.left_alone.length && `${done.left_alone.length} left alone`,
    done.scope !== "files" && !done.conversation_error
      && (done.kind === "summarise" ? "a new session, the old one stays" : "the conversation moved"),
    done.recovered && "an interrupted operation was finished first",
  ].filter(Boolean);
  return parts.join(" · ") || "there was nothing to do";
}

/** Names some files of an outcome, the first three in sight and all of them in the title. */
function named(words, files) {
  if (!files?.length) return null;
  const paths = files.map((one) => one.path);
  const more = paths.length > 3 ? `, +${paths.length - 3} more` : "";
  return el("span", { class: "quiet", title: paths.join("\n") }, `${words}: ${paths.slice(0, 3).join(", ")}${more}`);
}

/** How a person continues the session; words that are not takeback's own are only quoted. */
function goesOn(resume) {
  const line = `cd ${quoted(resume.cwd)} && ${resume.argv.map(quoted).join(" ")}`;
  if (resume.registered || !resume.from_event) return copyable("Go on with", line);
  return el("div", { class: "resume" }, el("span", { class: "quiet" }, "The host's words, not takeback's:"), el("q", {}, line));
}

function copyable(words, line) {
  return el("div", { class: "resume" }, el("span", { class: "quiet" }, words), el("code", {}, line), copyButton("Copy", line));
}

function copyButton(words, text) {
  const made = el("button", { type: "button", onclick: async () => {
    await navigator.clipboard.writeText(text);
    fill(made, "Copied");
  } }, words);
  return made;
}

/** Returns a word as a shell takes it. */
function quoted(word) {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
