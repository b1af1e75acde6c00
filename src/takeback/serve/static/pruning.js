// Making room: which checkpoints would lose their files and why, how much comes free, what keeps
// the rest; and the trash, from which it all comes back. The server decides; as with every change
// its plan is shown first, and only that plan is carried out.

import { Failure, get, post, within } from "./api.js";
import { button, openDialog } from "./dialog.js";
import { el } from "./text.js";
import { know, now } from "./store.js";
import { attempt, refresh } from "./workspace.js";
import { bytes, count, firstLine, sentence, when } from "./words.js";

const SHORT = 40;

export function openPruning() {
  if (!now().workspace) return;
  const box = openDialog({ title: "Make room", wide: true });
  look(box, null);
}

/** Asks what would go and what is in the trash, and shows both. */
async function look(box, session, note = null) {
  box.show({
    content: el("p", { class: "quiet", role: "status" }, "Looking at what can go…"),
    actions: [button("Close", box.close, { first: true })],
  });
  try {
    const wanted = session ? { session, all: true } : {};
    const [plan, { trash, grace_days: days }] = await Promise.all([post(within("prune", "plan"), wanted), get(within("trash"))]);
    if (box.dialog.isConnected) show(box, { session, plan, trash, days, note });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (!box.dialog.isConnected) return know({ trouble: sentence(error) });
    box.show({
      content: el("p", { class: "callout warn", role: "alert" }, sentence(error)),
      actions: [button("Close", box.close, { first: true }), button("Look again", () => look(box, session))],
    });
  }
  return undefined;
}

function show(box, { session, plan, trash, days, note }) {
  const number = plan.dropped.length;
  const idle = !number && !plan.sessions.length && !plan.forgotten.length;
  box.show({
    content: [
      note && el("p", { class: "callout", role: "status" }, note),
      choice(box, session),
      idle ? nothing(session, plan) : goes(plan, days),
      stays(plan),
      bin(box, session, trash, days),
    ],
    actions: [
      button("Close", box.close, { first: idle }),
      !idle && button(confirmWords(plan), () => carryOut(box, session, plan, days), { kind: "primary", first: true }),
    ],
  });
}

function confirmWords(plan) {
  if (plan.dropped.length) return `Drop the files of ${count(plan.dropped.length, "checkpoint")}`;
  return plan.sessions.length ? `Drop ${count(plan.sessions.length, "session")}` : `Drop ${count(plan.forgotten.length, "checkpoint")}`;
}

function choice(box, session) {
  const named = now().sessions.filter((one) => one.agent).slice(0, 200);
  const select = el("select", { id: "prune-what" },
    el("option", { value: "", selected: !session }, "What the settings call old"),
    named.map((one) => el("option", { value: one.id, selected: one.id === session },
      `All of ${one.agent} · ${short(firstLine(one.prompt)) || one.id}`)));
  select.addEventListener("change", async () => {
    await look(box, select.value || null);
    box.dialog.querySelector("#prune-what")?.focus(); // the next arrow chooses further
  });
  return el("div", { class: "prune-choice" }, el("label", { for: "prune-what" }, "What"), select);
}

function short(words) {
  return words.length > SHORT ? `${words.slice(0, SHORT)}…` : words;
}

function goes(plan, days) {
  return section(`${bytes(plan.bytes)} come free`,
    el("p", {}, plan.dropped.length > 0 && `${count(plan.dropped.length, "checkpoint")} will lose their files. `,
      "Prompts, labels and conversations stay, and for ", count(days, "day"), " everything waits in the trash."),
    reasons(plan.goes.filter((one) => one.reason !== "named")), // that one is why we are here
    plan.forgotten.length > 0 && el("p", {}, `${count(plan.forgotten.length, "expired checkpoint")} go altogether, so that the rest fits.`),
    plan.sessions.map((one) => el("p", {}, "The session ", el("code", {}, one), " goes whole.")));
}

function nothing(session, plan) {
  return el("div", { class: "empty-note" }, el("strong", {}, "Nothing to drop"),
    el("p", { class: "quiet" }, session ? "Whatever this session still holds is kept for a reason, below."
      : plan.kept ? "Nothing here is old enough to go; it also happens by itself." : "There are no checkpoints with files yet."));
}

function stays(plan) {
  if (!plan.kept && !plan.unread.length) return null;
  return section("What stays",
    el("p", {}, `${count(plan.kept, "checkpoint")} ${plan.kept === 1 ? "keeps its" : "keep their"} files${plan.stays.length ? ", of these pinned:" : "."}`),
    reasons(plan.stays),
    plan.unread.map((one) => el("p", { class: "callout warn" }, `The session ${one.session} is left alone: ${one.reason}`)));
}

function bin(box, session, trash, days) {
  return section("Trash", trash.length
    ? el("ul", { class: "paths" }, trash.map((one) => el("li", { class: "path-row" },
      el("span", { class: "path" }, `${count(one.checkpoints.length, "checkpoint")}, dropped ${when(one.time)}`),
      el("button", { type: "button", "aria-label": `Bring back ${count(one.checkpoints.length, "checkpoint")}, dropped ${when(one.time)}`,
        onclick: () => bringBack(box, session, one) }, "Bring back"))))
    : el("p", { class: "quiet" }, `The trash is empty. What is dropped waits here for ${count(days, "day")}.`));
}

function reasons(found) {
  return found.length > 0 && el("ul", { class: "paths" }, found.map((one) => el("li", { class: "path-row" },
    el("span", { class: "path" }, one.words), el("span", { class: "quiet" }, one.count.toLocaleString("en")))));
}

function section(title, ...children) {
  return el("section", { class: "overview" }, el("h3", {}, title), ...children);
}

async function carryOut(box, session, plan, days) {
  working(box);
  try {
    const done = await post(within("prune"), { nonce: plan.nonce });
    refresh();
    look(box, session, `${confirmWords(done).replace("Drop", "Dropped")}. They can be brought back for ${count(days, "day")}.`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // Something else would go now: that has to be seen first.
    look(box, session, sentence(error));
  }
}

async function bringBack(box, session, one) {
  working(box);
  const done = await attempt(() => post(within("restore"), { id: one.id }));
  refresh();
  const note = done ? `${count(done.checkpoints.length, "checkpoint")} got their files back.` : now().trouble;
  if (box.dialog.isConnected) look(box, session, note);
}

function working(box) {
  for (const one of box.dialog.querySelectorAll(".dialog-body button, .dialog-body select, .dialog-buttons button")) one.disabled = true;
  box.say("Working…");
}
