// What stands between a plan and its confirmation: each refusal is a question of its own, and so is
// each stretch that two changed. There is no yes to everything.

import { button } from "./dialog.js";
import { el, lines } from "./text.js";
import { capital } from "./words.js";

/** Asks the first refusal of a plan; `answer(waiver)` goes on. */
export function questionStage(box, plan, answer) {
  const [question] = plan.questions;
  const typed = question.word &&
    el("input", { type: "text", id: "word", autocomplete: "off", spellcheck: "false", "data-first": "yes" });
  const choose = (waiver) => {
    if (typed && typed.value.trim() !== question.word) return box.say(`Type ${question.word} to go on.`);
    return answer(waiver);
  };
  box.show({
    title: "A question first",
    content: [
      remaining(plan.questions.length),
      el("p", { class: "question", role: "alert" }, question.title),
      el("p", { class: "quiet" }, question.consequence),
      question.paths.length > 0 &&
        el("ul", { class: "paths" }, question.paths.map((one) => el("li", { class: "path-row" }, el("code", { class: "path" }, one.path)))),
      typed && el("label", { class: "field", for: "word" }, `Type the word ${question.word} to go on:`),
      typed,
    ],
    actions: [
      button("No, change nothing", box.close, { first: !typed }),
      ...question.answers.map((one) => button(one.words, () => choose(one.waiver))),
    ],
  });
}

/** Asks about the first stretch that two changed; `chosen(dispute, choice)` goes on. */
export function disputeStage(box, plan, chosen) {
  const [dispute] = plan.disputes;
  const [stretch] = plan.conflicts.find((one) => one.path === dispute.path)?.hunks ?? [];
  box.show({
    title: "Both changed this",
    content: [
      remaining(plan.disputes.length),
      el("p", { class: "question" }, el("code", {}, dispute.path)),
      el("p", {}, capital(dispute.question)),
      stretch && el("div", { class: "sides" },
        side("As it is now", stretch.ours, "ours"), side("As it would be", stretch.theirs, "theirs")),
    ],
    actions: [
      button("Cancel", box.close),
      ...dispute.choices.map((one, at) => button(one.words, () => chosen(dispute, one.choice), { first: at === 0 })),
    ],
  });
}

function side(title, text, kind) {
  const made = el("pre", { class: `side ${kind}` });
  made.append(lines(Array.isArray(text) ? text.join("") : text ?? ""));
  return el("div", {}, el("p", { class: "quiet" }, title), made);
}

function remaining(number) {
  return number > 1 ? el("p", { class: "quiet" }, `${number} questions before the plan`) : null;
}
