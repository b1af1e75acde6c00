// One workspace as the page knows it: its turns page by page, sessions and status. What an event
// tells is asked for again from the newest turn on, so that a lost event loses nothing.

import { Failure, get, within } from "./api.js";
import { know, now } from "./store.js";
import { sentence } from "./words.js";

const FIRST = 200; // turns that are asked for at first, and again when something happened
const PAGE = 500;
let asking = 0; // answers for another workspace or session are not for us any more
let paging = false;
let reading = null; // the newest turns are being read, for this `asking`
let missed = false; // something happened meanwhile: what comes may be older than that
let again = null;

export async function loadWorkspaces() {
  const { workspaces } = await get("workspaces");
  know({ workspaces });
  return workspaces;
}

/** Goes to a workspace, and to a turn of it if one is named. */
export async function visit(workspace, selected = null) {
  know({
    workspace, selected, stray: null, status: null, sessions: [], session: null, turns: [], more: null,
    loaded: false, found: null, query: "", trouble: null,
  });
  await load();
}

/** Shows one session alone, or all of them. */
export async function narrow(session) {
  know({ session, turns: [], more: null, loaded: false });
  await load();
}

function load() {
  asking += 1;
  return read((page) => {
    const selected = now().selected ?? page.turns.find((turn) => turn.prompt)?.id ?? null;
    return { turns: page.turns, more: page.next, selected, loaded: true };
  });
}

/** Reads what is newest, once at a time: an answer that was overtaken by another would stay. */
async function read(known) {
  const mine = asking;
  reading = mine;
  missed = false;
  try {
    await attempt(async () => {
      const [page, { sessions }] = await Promise.all([ask(), get(within("sessions"))]);
      if (mine !== asking) return;
      know({ ...known(page), sessions });
      const status = await get(within("status"));
      if (mine === asking) know({ status });
    });
  } finally {
    if (mine === asking) reading = null;
  }
  if (mine === asking && missed) refresh();
}

/** Asks for the next older turns, if there are any. */
export async function older() {
  if (paging || now().more === null) return;
  paging = true;
  const mine = asking;
  const { more } = now();
  try {
    await attempt(async () => {
      const page = await ask({ before: more, limit: PAGE });
      if (mine !== asking || more !== now().more) return;
      know({ turns: [...now().turns, ...page.turns], more: page.next });
    });
  } finally {
    paging = false;
  }
}

/** Asks again for what may have changed; several calls in a short time are one. */
export function refresh() {
  again ??= setTimeout(renew, 120);
}

async function renew() {
  again = null;
  if (!now().workspace) return;
  if (reading === asking) missed = true;
  else if (now().loaded) await read(joined);
  else await load(); // the server was gone when it was to be read
}

/** Joins the newest page with the older turns that are known: what left the page is gone. */
function joined(page) {
  const last = page.turns.at(-1);
  const at = last ? now().turns.findIndex((turn) => turn.id === last.id) : -1;
  if (at < 0) return { turns: page.turns, more: page.next };
  const rest = now().turns.slice(at + 1);
  return { turns: [...page.turns, ...rest], more: rest.length ? now().more : page.next };
}

function ask(query = {}) {
  return get(within("turns"), { session: now().session, limit: FIRST, ...query });
}

/** Does something that asks the server; what goes wrong is told at the top of the page. */
export async function attempt(job, { quiet = false } = {}) {
  try {
    return await job();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // That the server is gone is told by itself.
    if (!quiet && error.status !== 0 && error.status !== 401) know({ trouble: sentence(error), loaded: true });
    return null;
  }
}

export function turnOf(id) {
  return now().turns.find((turn) => turn.id === id) ?? (now().stray?.id === id ? now().stray : null);
}

/** Asks for the selected turn where it is on no page that was read: a search finds old ones, too. */
export async function lookUp({ selected, loaded }) {
  if (!selected || !loaded || turnOf(selected)) return;
  const stray = await attempt(() => get(within("checkpoints", selected)));
  if (stray && now().selected === selected) know({ stray });
}

/** Returns the session that the conversation is shown of: that of the selected turn. */
export function currentSession() {
  const { sessions, selected, session } = now();
  const wanted = turnOf(selected)?.session ?? session;
  return sessions.find((one) => one.id === wanted) ?? sessions[0] ?? null;
}
