// From a wish to what is done: the plan is shown, what speaks against it is asked one by one, what
// two changed is chosen one by one, and only then it can be confirmed. The server decides all of
// it; the page asks again for the plan with each answer.

import { Failure, post, within } from "./api.js";
import { button, openDialog } from "./dialog.js";
import { el } from "./text.js";
import { know } from "./store.js";
import { refresh } from "./workspace.js";
import { sentence } from "./words.js";
import { confirmWords, planContent, planTitle } from "./plan_content.js";
import { disputeStage, questionStage } from "./questions.js";

/** Shows the plan of a request and carries it out when it was confirmed. */
export function propose(request) {
  const asked = { kind: "rewind", overrides: [], conflicts: {}, ...request };
  const box = openDialog({ title: planTitle(asked, null), wide: true });
  waiting(box, asked);
  consider(box, asked);
}

async function consider(box, asked, note = null) {
  let plan;
  try {
    // A fork with its files is planned as a rewind; it is still a fork that was asked for.
    plan = { ...(await post(within("plan"), wordsOf(asked))), kind: asked.kind };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return failed(box, asked, error);
  }
  if (box.dialog.isConnected) stage(box, asked, plan, note);
}

/** Shows the next thing that has to be answered, or the whole plan. */
function stage(box, asked, plan, note) {
  const again = (more) => {
    waiting(box, asked);
    consider(box, { ...asked, ...more });
  };
  if (plan.questions.length) {
    return questionStage(box, plan, (waiver) => again({ overrides: [...asked.overrides, waiver] }));
  }
  if (plan.disputes.length) {
    return disputeStage(box, plan, ({ path, first }, choice) => {
      const before = (asked.conflicts[path] ?? []).slice(0, first);
      again({ conflicts: { ...asked.conflicts, [path]: [...before, choice] } });
    });
  }
  const nothing = plan.scope === "files" && !plan.written.length && !plan.deleted.length && plan.kind !== "fork";
  box.show({
    title: planTitle(asked, plan),
    content: [
      note && el("p", { class: "callout warn", role: "alert" }, note),
      ...planContent(plan, asked, again),
    ],
    actions: [
      button("Cancel", box.close, { first: nothing }),
      !nothing && button(confirmWords(plan), () => carryOut(box, asked, plan), { kind: "primary", first: true }),
    ],
  });
}

async function carryOut(box, asked, plan) {
  for (const one of box.dialog.querySelectorAll(".dialog-buttons button")) one.disabled = true;
  box.say("Working… it goes on to its end even if this page is closed.");
  try {
    const outcome = await post(within(plan.kind), { nonce: plan.nonce });
    box.close();
    know({ done: { ...outcome, kind: plan.kind, about: plan.about }, trouble: null });
    refresh();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    refresh();
    // What was agreed to is not what would be done now: the new plan has to be seen.
    if (error.status === 409) return consider(box, asked, `${sentence(error)} This is the plan as it is now.`);
    failed(box, asked, error);
  }
}

function waiting(box, asked) {
  box.show({
    title: planTitle(asked, null),
    content: el("p", { class: "quiet", role: "status" }, "Looking at what it would change…"),
    actions: [button("Cancel", box.close)],
  });
}

function failed(box, asked, error) {
  if (!box.dialog.isConnected) return know({ trouble: sentence(error) });
  return box.show({
    title: "It cannot be done now",
    content: [
      el("p", { class: "callout warn", role: "alert" }, sentence(error)),
      error.status === 0 && el("p", { class: "quiet" },
        "If it had begun, takeback finishes or undoes it as soon as it is asked again; nothing is left half-done."),
    ],
    actions: [
      button("Close", box.close, { first: true }),
      button("Ask again", () => {
        waiting(box, asked);
        consider(box, asked);
      }),
    ],
  });
}

/** Returns the request without what is empty: the server takes no field that says nothing. */
function wordsOf(asked) {
  return Object.fromEntries(
    Object.entries(asked).filter(([, value]) => {
      if (Array.isArray(value)) return value.length;
      return value !== null && (typeof value !== "object" || Object.keys(value).length);
    }),
  );
}
