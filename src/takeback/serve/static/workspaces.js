// All workspaces of the person in one list, the current one marked.

import { el, fill } from "./text.js";
import { know, now, watch } from "./store.js";
import { visit } from "./workspace.js";
import { restart } from "./events.js";
import { count, when } from "./words.js";

let list;

export function startWorkspaces(element) {
  list = element;
  watch(["workspaces", "workspace"], show);
}

/** Gives the list the focus, at the current workspace. */
export function focusWorkspaces() {
  know({ place: "workspaces" });
  // After the columns have changed places.
  requestAnimationFrame(() => (list.querySelector("[aria-current]") ?? list.querySelector("button"))?.focus());
}

export function nameOf(workspace) {
  return workspace.path.split("/").filter(Boolean).at(-1) ?? workspace.path;
}

async function choose(id) {
  if (id !== now().workspace) {
    await visit(id);
    restart();
  }
  know({ place: "timeline" });
}

function show() {
  const { workspaces, workspace } = now();
  if (workspaces === null) return;
  if (!workspaces.length) {
    fill(list, el("li", { class: "empty small" },
      el("p", {}, "No workspace yet. Connect an agent with ", el("code", {}, "takeback init"), " and give it a prompt.")));
    return;
  }
  fill(list, workspaces.map((one) => el("li", {}, el("button",
    { class: "workspace", type: "button", "aria-current": one.id === workspace ? "true" : null,
      title: one.path, onclick: () => choose(one.id) },
    el("span", { class: "workspace-name" }, nameOf(one)),
    el("span", { class: "workspace-path" }, parentOf(one.path)),
    el("span", { class: "quiet" }, about(one))))));
}

function parentOf(path) {
  return path.replace(/\/[^/]*\/?$/, "") || "/";
}

function about(one) {
  return [
    one.running ? "running" : "",
    one.checkpoints ? count(one.checkpoints, "checkpoint") : "",
    when(one.last),
  ].filter(Boolean).join(" · ");
}
