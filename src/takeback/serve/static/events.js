// What happens in a workspace while the page is open. Read with fetch: an EventSource cannot send
// the secret in a header, and a secret in an address would be in histories and logs.

import { Failure, lose, onReturn, open, pause } from "./api.js";

let following = null;
let last = null;
let listener = () => {};

/**
 * Calls the listener with (name, data) for each event, of every workspace. Done when events come,
 * or cannot come yet; if they come only later, everything has to be read again then.
 */
export function listen(heard) {
  listener = heard;
  onReturn(restart);
  return restart();
}

function restart() {
  following?.abort();
  following = new AbortController();
  const { signal } = following;
  return new Promise((settled) => follow(signal, settled).finally(settled));
}

async function follow(signal, settled) {
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      const headers = last === null ? {} : { "Last-Event-ID": last };
      const body = await open("events", headers, signal);
      if (tries && last === null) listener("reset", {});
      settled();
      await read(body, signal);
      if (!signal.aborted) lose();
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Failure) || error.status !== 503) return;
      settled();
      await pause(5000); // twenty others listen; a place comes free
    }
  }
}

async function read(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (!signal.aborted) {
    const { value, done } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
    const blocks = (rest + value).replace(/\r\n?/g, "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) tell(block);
  }
}

function tell(block) {
  const event = { event: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, name, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
    if (name) event[name] = value;
  }
  if (event.id) last = event.id;
  if (event.data) listener(event.event, JSON.parse(event.data));
}
