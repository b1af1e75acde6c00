// Search over prompts and paths, as one types; what was found stands in the timeline's place.

import { get, within } from "./api.js";
import { know, now, watch } from "./store.js";
import { attempt } from "./workspace.js";

const PATIENCE = 180; // milliseconds without a key before the server is asked
let input;
let waiting = null;
let asked = 0;
let answered = 0;

export function startSearch(element) {
  input = element;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, PATIENCE);
  });
  input.addEventListener("keydown", onKey);
  watch(["workspace"], () => (asked += 1)); // what is found now was asked of another one
  watch(["query"], ({ query }) => {
    if (input.value.trim() !== query) input.value = query;
  });
}

export function focusSearch() {
  know({ place: "timeline" });
  input.focus();
  input.select();
}

/** Shows every turn again; says whether there was anything to close. */
export function closeSearch() {
  if (now().found === null && !input.value) return false;
  asked += 1;
  input.value = "";
  know({ found: null, query: "" });
  return true;
}

async function search() {
  clearTimeout(waiting);
  waiting = null;
  const query = input.value.trim();
  if (!query) return closeSearch();
  const mine = ++asked;
  know({ query, place: "timeline" });
  const answer = await attempt(() => get(within("search"), { q: query, limit: 200 }));
  if (answer && mine === asked) {
    answered = mine;
    know({ found: answer.found });
  }
  return undefined;
}

/** Goes to the first that was found, for the words that stand there now. */
async function choose() {
  document.getElementById("timeline").focus();
  if (waiting !== null || answered !== asked) await search();
  const first = answered === asked && now().found?.[0];
  if (first) know({ selected: first.place });
}

function onKey(event) {
  if (event.key === "Escape") {
    closeSearch();
    input.blur();
  } else if (event.key === "Enter" || event.key === "ArrowDown") {
    event.preventDefault();
    choose();
  }
  event.stopPropagation();
}
