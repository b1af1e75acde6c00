// One question at a time, in a native dialog: it keeps the focus, closes with Esc, and gives the
// focus back to where it came from. Esc is in the table of keys: left to the browser it closes the
// dialog a while later, and the keys that follow at once are lost in it.

import { el, fill } from "./text.js";

let opened = 0;

/** Opens a dialog; `close()` ends it, and `onClose` is called however it ended. */
export function openDialog({ title, wide = false, onClose = () => {} }) {
  opened += 1;
  const id = `dialog-title-${opened}`; // each of several has a heading of its own
  const heading = el("h2", { id }, title);
  const body = el("div", { class: "dialog-body" });
  const buttons = el("footer", { class: "dialog-buttons" });
  const said = el("p", { class: "dialog-said", role: "status" });
  const dialog = el(
    "dialog",
    { class: wide ? "dialog wide" : "dialog", "aria-labelledby": id },
    el("header", { class: "dialog-head" }, heading,
      el("button", { class: "ghost", type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "✕")),
    body,
    said,
    buttons,
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    onClose();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // beside it
  });
  document.body.append(dialog);
  dialog.showModal();
  return {
    dialog,
    body,
    close() {
      dialog.close();
      dialog.remove(); // at once: its event comes later, when the next dialog may be open
    },
    say: (words) => fill(said, words ?? ""),
    /** Shows one stage of it; the first button is the one that Enter means. */
    show({ title: words = title, content, actions }) {
      fill(heading, words);
      fill(body, content);
      fill(buttons, actions);
      said.replaceChildren();
      const first = body.querySelector("[data-first], input") ?? buttons.querySelector("[data-first]");
      (first ?? buttons.querySelector("button"))?.focus();
    },
  };
}

/** Returns the dialog that is open, the last of several. */
export function openedDialog() {
  return [...document.querySelectorAll("dialog[open]")].at(-1) ?? null;
}

export function button(words, onclick, { kind = "", first = false, disabled = false } = {}) {
  return el("button", { class: kind, type: "button", onclick, disabled, "data-first": first ? "yes" : null }, words);
}

/** Asks for one line of text, which is `value` now; `done(text)` returns what is wrong with it. */
export function askText({ title, about, label, value = "", suggested = "", maxlength = 200, go, done }) {
  const box = openDialog({ title });
  const input = el("input", { type: "text", id: "asked", value: value || suggested, maxlength, autocomplete: "off", spellcheck: "false" });
  const asShown = value && input.value;
  const submit = async (event) => {
    event?.preventDefault();
    // Of what is shown as \xNN the words are others; as long as nobody types, nothing changes.
    const said = input.value === asShown ? null : await done(input.value.trim());
    if (said) box.say(said);
    else box.close();
  };
  box.show({
    content: el("form", { onsubmit: submit }, el("p", { class: "quiet" }, about),
      el("label", { class: "field", for: "asked" }, label), input),
    actions: [button("Cancel", box.close), button(go, submit, { kind: "primary" })],
  });
  input.select();
}
