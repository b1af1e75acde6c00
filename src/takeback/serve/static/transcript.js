// The conversation as one reads it, oldest first, and open at its end. Only what is seen is drawn.

import { el } from "./text.js";
import { know, now, watch } from "./store.js";
import { Windowed } from "./windowed.js";
import { Conversation } from "./conversation.js";
import { messageRow } from "./message.js";
import { currentSession, turnOf } from "./workspace.js";

let list;
let conversation;
let shownSession = null;
let asked = null; // the turn that was chosen elsewhere and has to be brought into sight
const unfolded = new Set();

export function startTranscript(scroller) {
  const want = (first, last) => conversation.want(first, last);
  list = new Windowed(scroller, { guess: 88, draw, want, role: "feed" });
  conversation = new Conversation((first, last) => {
    for (let at = first; at <= last; at += 1) list.again(at);
  });
  scroller.addEventListener("focusin", onFocus);
  watch(["sessions", "turns", "loaded", "stray"], follow);
  watch(["selected"], () => (currentSession()?.id === shownSession ? bringIntoSight() : follow()));
  watch(["selected"], mark);
  watch(["pane", "place"], () => now().pane === "conversation" && bringIntoSight());
}

/** Moves to the next or the previous message of the person, and gives it the focus. */
export async function stepMessage(by) {
  const here = document.activeElement?.closest("[data-index]");
  let at = here ? Number(here.dataset.index) : list.at(list.scroller.scrollTop);
  for (at += by; at >= 0 && at < list.count; at += by) {
    if (conversation.get(at)?.role !== "user") continue;
    list.reveal(at, "start");
    list.row(at)?.focus();
    return;
  }
}

// Not drawn again: a button that is being pressed has to stay where it is.
function mark({ selected }) {
  list.each((row) => row.classList.toggle("chosen", row.dataset.place === selected));
}

async function follow() {
  const session = currentSession();
  if (!session) return empty(now().loaded);
  const atEnd = list.atEnd;
  const other = shownSession !== session.id;
  const before = conversation.total;
  await conversation.read(session);
  if (currentSession()?.id !== session.id) return;
  shownSession = session.id;
  if (other) unfolded.clear();
  list.scroller.querySelector(".empty")?.remove();
  if (other || conversation.total !== before) {
    list.show(conversation.total, { keep: !other });
    // A new message is only followed by somebody who reads at the end.
    if (other || atEnd) list.reveal(conversation.total - 1, "end");
  } else {
    list.redraw();
  }
  if (!conversation.total) return empty(true);
  await bringIntoSight();
}

async function bringIntoSight() {
  const { selected, pane } = now();
  if (!selected || selected === asked || pane !== "conversation" || !list.scroller.offsetParent) return;
  asked = selected;
  if (document.activeElement?.closest?.("[data-index]")?.dataset.place === selected) return;
  const at = await conversation.placeOf(selected);
  if (at >= 0 && now().selected === selected) list.reveal(at, "start");
}

function onFocus(event) {
  const place = event.target.closest("[data-place]")?.dataset.place;
  if (place && turnOf(place)) {
    asked = place; // it is in sight already
    know({ selected: place });
  }
}

function draw(at) {
  const message = conversation.get(at);
  if (!message) return el("article", { class: "message waiting", "aria-label": "Being read", "aria-busy": "true" }, " ");
  return messageRow(message, at, {
    turn: message.checkpoint ? turnOf(message.checkpoint) : null,
    unfolded: unfolded.has(at),
    unfold: () => {
      if (!unfolded.delete(at)) unfolded.add(at);
      list.again(at);
      list.row(at)?.querySelector("button")?.focus();
    },
  });
}

function empty(loaded) {
  list.show(0);
  list.scroller.querySelector(".empty")?.remove();
  shownSession = null;
  if (!loaded) return;
  list.scroller.append(
    el("div", { class: "empty" },
      el("h2", {}, "No conversation yet"),
      el("p", {}, "When an agent works here, its conversation appears as it is spoken. Each of your messages gets a control that takes back to before it.")),
  );
}
