// The messages of a conversation, page by page. They are asked for at the session's newest
// checkpoint: the conversation up to there. A session without one is told by its turns instead.

import { get, within } from "./api.js";
import { now } from "./store.js";
import { attempt } from "./workspace.js";

const PAGE = 100;

export class Conversation {
  /** `changed(first, last)` is called when messages came that were not there. */
  constructor(changed) {
    this.changed = changed;
    this.forget();
  }

  forget() {
    Object.assign(this, { session: null, at: null, total: 0, known: new Map(), asked: new Set(), told: false });
    this.generation = (this.generation ?? 0) + 1;
  }

  /** Reads the conversation of a session, as it is now; of the same one only what is new. */
  read(session) {
    if (session.id !== this.session) this.forget();
    else if (session.newest === this.at && !this.told) return this.reading;
    this.reading = this.readNow(session);
    return this.reading;
  }

  async readNow(session) {
    const mine = this.generation;
    Object.assign(this, { session: session.id, at: session.newest });
    // The last message may have been unfinished when it was read.
    const first = Math.max(0, Math.floor((this.total - 1) / PAGE));
    for (const page of [...this.asked]) if (page >= first) this.asked.delete(page);
    // Without a transcript there is nothing to read, and nothing to complain about.
    const answer = await attempt(() => this.page(first), { quiet: true });
    if (mine !== this.generation || this.at !== session.newest) return;
    if (answer?.total) {
      Object.assign(this, { total: answer.total, told: false });
      this.take(first, answer.messages);
    } else {
      this.fromTurns(session);
    }
  }

  get(index) {
    return this.known.get(index) ?? null;
  }

  /** Says which messages are looked at; those that are not known are asked for. */
  want(first, last) {
    if (this.told) return;
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) {
      if (!this.asked.has(page)) this.fetch(page);
    }
  }

  async fetch(page) {
    const mine = this.generation;
    this.asked.add(page);
    const answer = await attempt(() => this.page(page));
    if (answer && mine === this.generation) {
      this.take(page, answer.messages);
      this.changed(page * PAGE, page * PAGE + answer.messages.length - 1);
    } else {
      this.asked.delete(page);
    }
  }

  page(number) {
    return get(within("checkpoints", this.at, "messages"), { offset: number * PAGE, limit: PAGE });
  }

  take(page, messages) {
    this.asked.add(page);
    messages.forEach((message, at) => this.known.set(page * PAGE + at, message));
  }

  /** Returns where the message of a turn stands: after all that was said before it. */
  async placeOf(checkpoint) {
    for (const [index, message] of this.known) if (message.checkpoint === checkpoint) return index;
    if (this.told || !this.total) return -1;
    const answer = await attempt(() => get(within("checkpoints", checkpoint, "messages"), { limit: 1 }));
    return answer && answer.total < this.total ? answer.total : -1;
  }

  /** Tells a session that has no transcript by what is known of its turns. */
  fromTurns(session) {
    const turns = now().turns.filter((turn) => turn.session === session.id && turn.prompt).reverse();
    this.known = new Map(turns.map((turn, at) => [at, {
      number: at, role: "user", text: turn.prompt, time: turn.time, tool: null,
      checkpoint: turn.id, turn: turn.turn,
    }]));
    Object.assign(this, { total: turns.length, told: true });
  }
}
