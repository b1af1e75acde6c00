// Calls of the server. The secret is kept for this tab alone and goes nowhere but to a server that
// has proved that it knows it: after a lost connection another program may have the port.

import { know, now } from "./store.js";

const KEPT = "takeback secret";
const PATIENCE = [500, 1000, 2000, 4000, 8000];
let trusted = false;
let proving = null;
let returning = null;
const returned = [];

/** An answer that is not the one that was wanted: `code`, `message` and `hint` as on a terminal. */
export class Failure extends Error {
  constructor(status, { code = "gone", message = "", hint = "", flag = "" } = {}) {
    super(message || `the server answered with ${status}`);
    Object.assign(this, { status, code, hint, flag });
  }
}

/** Returns whether this tab may ask: a one-time code is exchanged for the secret first. */
export async function enter(code) {
  if (code) {
    const answer = await send("POST", "enter", { body: { code } });
    if (answer.ok) {
      sessionStorage.setItem(KEPT, (await answer.json()).secret);
      trusted = true; // it was this server that just gave it
    }
  }
  return sessionStorage.getItem(KEPT) !== null;
}

export function get(path, query = {}, { signal } = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") words.set(name, String(value));
  }
  const asked = words.size ? `${path}?${words}` : path;
  return call("GET", asked, { signal });
}

export function post(path, body) {
  return call("POST", path, { body });
}

/** Returns the path of something in a workspace; each part is one component. */
export function within(...parts) {
  return ["workspaces", now().workspace, ...parts].map(encodeURIComponent).join("/");
}

/** Opens a stream of events; the answer's body is read by the caller. */
export async function open(path, headers, signal) {
  await proved();
  const answer = await send("GET", path, { secret: true, headers, signal });
  if (!answer.ok) throw await failure(answer);
  return answer.body;
}

/** Says that the connection was lost: nothing is sent before the server has proved itself again. */
export function lose() {
  trusted = false;
  if (now().connection !== "stranger") know({ connection: "lost" });
  returning ??= comeBack().finally(() => (returning = null));
}

/** Calls a listener each time that the connection came back. */
export function onReturn(listener) {
  returned.push(listener);
}

async function call(method, path, { body, signal } = {}) {
  await proved();
  const answer = await send(method, path, { secret: true, body, signal });
  if (!answer.ok) throw await failure(answer);
  return answer.json();
}

async function send(method, path, { secret = false, body, headers = {}, signal } = {}) {
  const sent = { ...headers };
  if (secret) sent.Authorization = `Bearer ${sessionStorage.getItem(KEPT)}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  try {
    return await fetch(`/api/v1/${path}`, {
      method,
      headers: sent,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    lose();
    throw new Failure(0, { message: "the server does not answer" });
  }
}

async function failure(answer) {
  if (answer.status === 401) know({ connection: "locked" });
  try {
    return new Failure(answer.status, (await answer.json()).error);
  } catch {
    return new Failure(answer.status, { code: answer.status === 401 ? "locked" : "failed" });
  }
}

async function proved() {
  if (trusted) return;
  proving ??= challenge().finally(() => (proving = null));
  if (!(await proving)) throw new Failure(0, { message: "the server has not proved itself" });
}

async function challenge() {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const answer = await send("POST", "challenge", { body: { nonce } });
  const proof = answer.ok ? (await answer.json().catch(() => ({}))).proof : null;
  trusted = proof === (await expected(nonce));
  know({ connection: trusted ? "live" : "stranger" });
  return trusted;
}

async function expected(nonce) {
  const bytes = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const secret = bytes.encode(sessionStorage.getItem(KEPT) ?? "");
  const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
  const proof = await crypto.subtle.sign("HMAC", key, bytes.encode(`takeback challenge ${nonce}`));
  return hex(new Uint8Array(proof));
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function comeBack() {
  for (let tries = 0; !trusted; tries += 1) {
    await pause(PATIENCE[Math.min(tries, PATIENCE.length - 1)]);
    // Who is there but cannot prove it will not learn to: only a new page can go on.
    if (now().connection === "stranger") return;
    await proved().catch(() => {});
  }
  for (const listener of returned) listener();
}

export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
