// takeback for opencode: tells takeback what happens, so that any turn can be taken back.
// Put here by `takeback init opencode`, taken away by `takeback uninstall`; do not edit.
//
//   opencode ── hook ──> this file ── one JSON line ──> takeback hook opencode --stdio
//
// It decides nothing: it forwards what opencode says, with the conversation as opencode has it, and
// waits until takeback has kept the files. Whatever goes wrong with takeback, opencode goes on.

import { execFile, spawn } from "node:child_process"

const LAUNCHER = "" // `takeback init` writes the path of its launcher here
const LIMIT = 10_000 // milliseconds that opencode ever waits for one answer
const ATTEMPTS = 3 // starts of takeback that may fail before it is left alone

const EDITS = new Set(["edit", "write", "multiedit", "apply_patch", "patch"])
const QUIET = new Set([
  ...["read", "glob", "grep", "list", "ls", "lsp", "webfetch", "websearch", "codesearch"],
  ...["todoread", "todowrite", "question", "skill", "plan_enter", "plan_exit", "invalid"],
]) // tools that change no file

export const Takeback = async ({ client, directory }) => {
  if (!LAUNCHER || process.env.TAKEBACK?.toLowerCase() === "off") return {}
  const desk = new Desk(directory)
  const parents = new Map() // session -> the session whose subagent it is, or null
  const reverts = new Map() // session -> the message that opencode itself went back to
  const busy = new Set() // sessions that a turn runs in
  const met = new Set() // sessions that have been prompted here
  let last = Promise.resolve() // one event after the other, in the order that they came

  const one = async (id) => (await client.session.get({ path: { id } })).data
  const messagesOf = async (id) => (await client.session.messages({ path: { id } })).data ?? []

  // Subagents are sessions of their own in opencode; what they do belongs to the person's session.
  const rootOf = async (id) => {
    for (let at = id; ; ) {
      if (!parents.has(at)) parents.set(at, (await one(at))?.parentID ?? null)
      const parent = parents.get(at)
      if (!parent) return at
      at = parent
    }
  }

  const tell = (event, id, more = {}, { conversation = true } = {}) => {
    const told = last.then(async () => {
      const root = await rootOf(id)
      const subagent = root === id ? null : id
      if (subagent && !event.startsWith("tool.")) return null
      const payload = { event, sessionID: root, subagent, directory, pid: process.pid, ...more }
      if (!conversation) return desk.ask("event", { event: payload })
      const [session, messages] = await Promise.all([one(root), messagesOf(root)])
      // One line a message and what changes with each of them last: kept again, it costs no room.
      const lines = [...messages, { session }].map((line) => JSON.stringify(line) + "\n")
      if (event === "chat.message" && !met.has(root)) {
        met.add(root)
        const fork = await forkOf(session, messages)
        const forked = { ...payload, ...fork, event: "session.forked", conversation: lines.join("") }
        if (fork) await desk.ask("event", { event: forked })
      }
      return desk.ask("event", { event: { ...payload, conversation: lines.join("") } })
    })
    last = told.catch(() => null)
    return withLimit(last)
  }

  // opencode does not say what a fork was made of; its title does, if only one session has it.
  const forkOf = async (session, messages) => {
    const [, title, number] = /^(.+) \(fork #(\d+)\)$/.exec(session?.title ?? "") ?? []
    if (!title) return null
    const named = number === "1" ? title : `${title} (fork #${number - 1})`
    const all = (await client.session.list()).data ?? []
    const found = all.filter((s) => s.title === named && !s.parentID && s.id !== session.id)
    if (found.length !== 1) return null
    const theirs = await messagesOf(found[0].id)
    return { parent: found[0].id, entry: theirs[messages.length]?.info.id }
  }

  const events = {
    "session.created": ({ info }) => {
      parents.set(info.id, info.parentID ?? null)
      return tell("session.created", info.id, {}, { conversation: false })
    },
    "session.updated": ({ info }) => {
      const to = info.revert?.messageID
      if (to === reverts.get(info.id)) return
      reverts.set(info.id, to)
      return tell("session.updated", info.id, { entry: to })
    },
    "session.status": ({ sessionID, status }) => {
      if (status.type === "idle") busy.delete(sessionID)
      else busy.add(sessionID)
    },
    "session.idle": ({ sessionID }) => tell("session.idle", sessionID),
    "session.compacted": ({ sessionID }) => tell("session.compacted", sessionID),
  }

  return {
    event: async ({ event }) => {
      await guarded(() => events[event.type]?.(event.properties))
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      await guarded(async () => {
        const texts = parts.filter((part) => part.type === "text")
        const steer = busy.has(sessionID)
        const kept = await tell("chat.message", sessionID, { message: message.id, texts, steer })
        if (kept?.note) parts.push(notePart(message, parts, kept.note))
      })
    },
    "tool.execute.before": async ({ tool, sessionID }, { args }) => {
      if (!EDITS.has(tool)) return
      const call = { tool, args: named(args) }
      await guarded(() => tell("tool.execute.before", sessionID, call, { conversation: false }))
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }) => {
      if (QUIET.has(tool)) return
      const call = { tool, call: callID, args: named(args) }
      await guarded(() => tell("tool.execute.after", sessionID, call))
    },
    "shell.env": async ({ sessionID }, { env }) => {
      await guarded(async () => {
        if (!sessionID) return
        Object.assign(env, { TAKEBACK_AGENT: "opencode", TAKEBACK_SESSION_ID: await rootOf(sessionID) })
      })
    },
    dispose: async () => {
      for (const id of busy) tell("dispose", id, {}, { conversation: false })
      await guarded(() => withLimit(last))
      desk.close()
    },
  }
}

// The files that a tool names; the contents are in the conversation already.
const named = (args) => ({ filePath: args?.filePath, patchText: args?.patchText })

const notePart = (message, parts, text) => ({
  // Parts are sorted by id: this one comes right after the prompt's own.
  id: (parts.at(-1)?.id ?? message.id.replace("msg", "prt")).slice(0, 16) + "z".repeat(14),
  sessionID: message.sessionID,
  messageID: message.id,
  type: "text",
  synthetic: true,
  text,
})

const guarded = async (work) => {
  try {
    return await work()
  } catch {
    return null // opencode would stop the prompt or the tool
  }
}

const withLimit = (promise) => {
  let timer
  const limit = new Promise((resolve) => {
    timer = setTimeout(() => resolve(null), LIMIT)
  })
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer))
}

// One takeback, as long as opencode lives; started at the first event, and again if it ended.
class Desk {
  #directory
  #process = null
  #failures = 0
  #number = 0
  #waiting = new Map()

  constructor(directory) {
    this.#directory = directory
  }

  ask(call, fields) {
    if (!this.#process && this.#failures < ATTEMPTS) this.#start()
    const process = this.#process
    if (!process) return Promise.resolve(null)
    const id = ++this.#number
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      process.stdin.write(JSON.stringify({ id, call, ...fields }) + "\n")
    })
  }

  close() {
    this.#process?.stdin.end()
    this.#process = null
    this.#failures = ATTEMPTS
  }

  #start() {
    // In a group of its own: an interrupt from the terminal must not end what keeps the files.
    const child = spawn(LAUNCHER, ["opencode", "--stdio"], {
      cwd: this.#directory,
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
    })
    let text = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (piece) => {
      const lines = (text + piece).split("\n")
      text = lines.pop()
      lines.forEach((line) => this.#hear(line))
    })
    const gone = () => {
      if (this.#process !== child) return
      this.#process = null
      this.#failures += 1
      for (const resolve of this.#waiting.values()) resolve(null)
      this.#waiting.clear()
    }
    child.on("error", gone)
    child.on("close", gone)
    child.stdin.on("error", gone)
    child.unref()
    this.#process = child
  }

  #hear(line) {
    try {
      const { id, ok, result } = JSON.parse(line)
      this.#failures = 0
      this.#waiting.get(id)?.(ok ? result : null)
      this.#waiting.delete(id)
    } catch {
      // what is no answer is passed over
    }
  }
}
