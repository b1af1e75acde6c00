// How many lines came and went, with a sign, so that colour is not all that tells them apart.

import { el } from "./text.js";

export function lineCounts({ added, deleted }) {
  return [
    added ? el("span", { class: "plus" }, `+${added.toLocaleString("en")}`) : null,
    deleted ? el("span", { class: "minus" }, `−${deleted.toLocaleString("en")}`) : null,
  ];
}
