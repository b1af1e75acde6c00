// What the person has to know first: the server is gone, somebody else answers, or something failed.

import { el, fill } from "./text.js";
import { know, watch } from "./store.js";

const SAID = {
  lost: ["The server does not answer.",
    "What it was doing is finished or undone when takeback is asked next. This page goes on by itself when it is back; if you ended it, start it again:"],
  stranger: ["Another program answers at this address.",
    "It could not prove that it is takeback, so your secret was not sent to it. Close this page and open a new one:"],
  locked: ["This page has no key.",
    "A page works in the tab that takeback opened, as long as that server runs. Open a new one:"],
};

export function startBanner(banner) {
  watch(["connection", "trouble"], ({ connection, trouble }) => {
    const [title, words] = SAID[connection] ?? [];
    banner.hidden = !title && !trouble;
    document.body.classList.toggle("cut-off", Boolean(title));
    if (title) {
      fill(banner, el("strong", {}, title), el("span", {}, words), el("code", {}, "takeback serve --open"));
    } else if (trouble) {
      fill(banner, el("span", {}, trouble),
        el("button", { class: "ghost", type: "button", "aria-label": "Dismiss", onclick: () => know({ trouble: null }) }, "✕"));
    }
  });
}
