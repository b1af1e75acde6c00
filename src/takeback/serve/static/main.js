// Begins the page: lets it in, starts the parts, and follows what happens.

import { enter, onReturn } from "./api.js";
import { fill, el } from "./text.js";
import { know, now, watch } from "./store.js";
import { listen } from "./events.js";
import { attempt, loadWorkspaces, lookUp, narrow, refresh, visit } from "./workspace.js";
import { startBanner } from "./banner.js";
import { startChanges } from "./changes.js";
import { openHelp, startKeys } from "./keys.js";
import { startOutcome } from "./outcome.js";
import { glance, openOverview } from "./overview.js";
import { startSearch } from "./search.js";
import { startTheme, switchTheme } from "./theme.js";
import { startTimeline } from "./timeline.js";
import { startTranscript } from "./transcript.js";
import { nameOf, startWorkspaces } from "./workspaces.js";
import { firstLine } from "./words.js";

const part = (id) => document.getElementById(id);

function startParts() {
  watch(["pane", "place"], arrange); // first: the others look at what is in sight
  startTheme();
  startBanner(part("banner"));
  startWorkspaces(part("workspaces"));
  startTimeline(part("timeline"));
  startTranscript(part("transcript"));
  startChanges(part("changes"));
  startSearch(part("search"));
  startOutcome(part("outcome"));
  startKeys();
  part("help").addEventListener("click", openHelp);
  part("theme").addEventListener("click", switchTheme);
  part("overview").addEventListener("click", openOverview);
  part("session").addEventListener("change", (event) => narrow(event.target.value || null));
  for (const tab of document.querySelectorAll("[data-pane]")) {
    tab.addEventListener("click", () => know({ pane: tab.dataset.pane, place: "pane" }));
  }
  for (const tab of document.querySelectorAll("[data-place-tab]")) {
    tab.addEventListener("click", () => know({ place: tab.dataset.placeTab }));
  }
  watch(["workspace", "workspaces", "selected"], remember);
  watch(["sessions", "session"], showSessions);
  watch(["selected", "loaded"], lookUp);
  watch(["status"], () => fill(part("glance"), glance()));
  arrange(now());
}

function arrange({ pane, place }) {
  document.body.dataset.place = place;
  part("transcript").hidden = pane !== "conversation";
  part("changes").hidden = pane !== "changes";
  for (const tab of document.querySelectorAll("[data-pane]")) {
    tab.setAttribute("aria-selected", String(tab.dataset.pane === pane));
  }
  for (const tab of document.querySelectorAll("[data-place-tab]")) {
    tab.setAttribute("aria-pressed", String(tab.dataset.placeTab === place));
  }
}

/** Keeps the place in the address, so that a reload comes back to it. */
function remember({ workspaces, workspace, selected }) {
  const known = workspaces?.find((one) => one.id === workspace);
  fill(part("where"), known ? nameOf(known) : "takeback");
  document.title = known ? `${nameOf(known)} · takeback` : "takeback";
  if (!workspace) return;
  const words = new URLSearchParams({ w: workspace, ...(selected ? { t: selected } : {}) });
  history.replaceState(null, "", `#${words}`);
}

function showSessions({ sessions, session }) {
  const named = sessions.filter((one) => one.agent);
  fill(part("session"), el("option", { value: "" }, "All sessions"), named.slice(0, 200).map((one) =>
    el("option", { value: one.id, selected: one.id === session }, `${one.agent} · ${firstLine(one.prompt).slice(0, 40) || one.id}`)));
  part("session").parentElement.hidden = named.length < 2;
}

async function begin() {
  const asked = new URLSearchParams(location.hash.slice(1));
  // The code is worth nothing after it was used; still it does not stay in the address.
  history.replaceState(null, "", location.pathname);
  startParts();
  if (!(await enter(asked.get("code")).catch(() => false))) {
    know({ connection: now().connection === "lost" ? "lost" : "locked", workspaces: [] });
    return;
  }
  onReturn(() => {
    if (!now().workspace) return show(asked);
    attempt(loadWorkspaces);
    return refresh();
  });
  // First, so that what happens while the rest is read is told.
  await listen(onEvent);
  await show(asked);
}

/** Goes to what the address asked for, or to the first workspace. */
function show(asked) {
  return attempt(async () => {
    const workspaces = await loadWorkspaces();
    know({ connection: "live" });
    const wanted = workspaces.find((one) => one.id === asked.get("w")) ?? workspaces[0];
    if (wanted) await visit(wanted.id, asked.get("t"));
    else know({ loaded: true });
  });
}

function onEvent(name, data) {
  if (name === "progress") return;
  if (name === "workspace" || name === "reset") attempt(loadWorkspaces);
  if (!data.workspace || data.workspace === now().workspace) refresh();
}

begin();
