// What the page knows, in one place. Views watch the names that they show; changes made together
// are told together, once.

const state = {
  connection: "starting", // live, lost, stranger, locked
  workspaces: null,
  workspace: null,
  status: null,
  sessions: [],
  session: null, // only this one is shown
  turns: [],
  more: null, // where the next page of turns begins; null at the end
  loaded: false,
  selected: null,
  stray: null, // the selected turn, if it is on no page that was read
  pane: "conversation", // or changes
  place: "timeline", // on a narrow screen: which of the columns is seen
  found: null, // what a search found, newest first
  query: "",
  done: null, // the outcome that the bar at the bottom tells of
  trouble: null, // what went wrong last, in words
};
const watchers = [];
let changed = new Set();

export function now() {
  return state;
}

/** Changes what is known; those who watch one of the names are told soon. */
export function know(patch) {
  for (const [name, value] of Object.entries(patch)) {
    if (!(name in state)) throw new TypeError(`nothing is known as ${name}`);
    if (state[name] === value) continue;
    state[name] = value;
    if (changed.size === 0) queueMicrotask(tell);
    changed.add(name);
  }
}

export function watch(names, listener) {
  watchers.push([names, listener]);
}

function tell() {
  const names = changed;
  changed = new Set();
  for (const [wanted, listener] of watchers) {
    if (wanted.some((name) => names.has(name))) listener(state);
  }
}
