// How the workspace is: what is held and what is not, how much room it takes, what is wrong.

import { get, within } from "./api.js";
import { button, openDialog } from "./dialog.js";
import { el } from "./text.js";
import { now } from "./store.js";
import { openPruning } from "./pruning.js";
import { attempt } from "./workspace.js";
import { bytes, capital, count, when } from "./words.js";

export async function openOverview() {
  const box = openDialog({ title: "This workspace", wide: true });
  const actions = [button("Close", box.close, { first: true })];
  box.show({ content: el("p", { class: "quiet", role: "status" }, "Looking…"), actions });
  const status = await attempt(() => get(within("status")));
  if (!status) return box.close();
  const newest = status.newest ? await attempt(() => get(within("checkpoints", status.newest))) : null;
  if (!box.dialog.isConnected) return undefined;
  box.show({
    content: [
      el("p", {}, el("code", {}, status.workspace)),
      ...status.warnings.map((one) => el("p", { class: "callout warn" }, `${capital(one.message)} ${capital(one.hint)}`)),
      ...status.disagree.map((one) => el("p", { class: "callout" }, `${one.id}: ${one.disagrees}`)),
      room(status, box.close),
      held(status, newest),
      agents(status),
      trouble(status),
    ],
    actions,
  });
  return undefined;
}

function room(status, close) {
  const full = status.budget ? Math.min(100, Math.round((100 * status.bytes) / status.budget)) : 0;
  const bar = el("div", { class: "meter", role: "meter", "aria-label": "Disk use", "aria-valuemin": "0",
    "aria-valuemax": "100", "aria-valuenow": String(full) }, el("div", { class: "meter-full" }));
  bar.firstChild.style.width = `${Math.max(full, 1)}%`;
  return section("Disk use",
    el("p", {}, `${bytes(status.bytes)} of ${bytes(status.budget)} · ${bytes(status.growth)} in the last day`), bar,
    el("p", { class: "quiet" }, [count(status.checkpoints, "checkpoint"), count(status.sessions, "session"),
      status.expired && `${count(status.expired, "checkpoint")} without files any more`].filter(Boolean).join(" · ")),
    status.heaviest.length > 0 && el("ul", { class: "paths" }, status.heaviest.map((one) => row(one.path,
      `${count(one.versions, "version")}, ${bytes(one.bytes)}`))),
    el("p", {}, button("Make room…", () => {
      close();
      openPruning();
    })));
}

function held(status, newest) {
  const lacking = newest?.not_held ?? [];
  const words = newest === null ? "No checkpoint yet: nothing is held."
    : lacking.length === 0 ? `All ${count(newest.files, "file")} of the workspace are held.`
      : `${count(newest.files, "file")} held. These are not:`;
  return section("Coverage",
    el("p", {}, words),
    lacking.length > 0 && el("ul", { class: "paths", tabindex: "0", "aria-label": "Not held" },
      lacking.slice(0, 200).map((one) => row(one.path, one.reason))),
    status.sensitive.length > 0 && el("p", { class: "quiet" }, `${count(status.sensitive.length, "file")} that usually hold a secret are kept; takeback purge removes one for good.`),
    !status.recording && el("p", { class: "callout warn" }, "Nothing is recorded here: turned off. In a terminal: takeback on"));
}

function agents(status) {
  const known = status.agents.filter((one) => one.connected || one.last_event);
  return section("Agents", known.length
    ? el("ul", { class: "paths" }, known.map((one) => row(one.agent, one.hindrance ??
      (one.last_event ? `last heard ${when(one.last_event)}` : "connected"))))
    : el("p", {}, "None is connected. In a terminal: ", el("code", {}, "takeback init")));
}

function trouble(status) {
  const failures = status.failures.slice(-5);
  if (!failures.length && !status.interrupted) return null;
  return section("Trouble",
    status.interrupted && el("p", { class: "callout warn" }, "An operation was interrupted. The next one finishes or undoes it first."),
    ...failures.map((one) => el("p", {}, typeof one === "string" ? one : `${when(one.time)} ${one.message ?? one.sentence ?? ""}`)));
}

function row(path, words) {
  return el("li", { class: "path-row" }, el("code", { class: "path" }, path), el("span", { class: "quiet" }, words));
}

function section(title, ...children) {
  return el("section", { class: "overview" }, el("h3", {}, title), ...children);
}

/** Returns the few words about the workspace for the top of the page. */
export function glance() {
  const { status } = now();
  if (!status) return "";
  return [bytes(status.bytes), status.warnings.length + status.failures.length && "look here"].filter(Boolean).join(" · ");
}
