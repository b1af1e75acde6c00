// All workspaces of the person in one list, the current one marked.

import { el, fill } from "./text.js";
import { know, now, watch } from "./store.js";
import { visit } from "./workspace.js";

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
  if (id !== now().workspace) await visit(id);
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
    one.there === false && el("span", { class: "quiet" }, "its directory is gone")))));
}

function parentOf(path) {
  return path.replace(/\/[^/]*\/?$/, "") || "/";
}
