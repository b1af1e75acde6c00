// takeback for opencode: tells takeback what happens, so that any turn can be taken back.
// Put here by `takeback init opencode`, taken away by `takeback uninstall`; do not edit.
//
//   opencode ── hook ──> this file ── one JSON line ──> takeback hook opencode --stdio
//
// Forks of opencode, such as Kilo, load the same file, under their own name.
//
// It decides nothing: it forwards what opencode says, with the conversation as opencode has it, and
// waits until takeback has kept the files. Whatever goes wrong with takeback, opencode goes on.

import { spawn } from "node:child_process"
import { dirname } from "node:path"

// `takeback init` writes here the path of its launcher, and whose plugin this is.
const LAUNCHER = ""
const AGENT = "opencode"
const LIMIT = 15_000 // the longest that opencode waits for one answer, in milliseconds
const PATIENCE = 120_000 // milliseconds for a request that the person waits for
const ATTEMPTS = 3 // how many starts of takeback may fail before we give up
const SESSION = "--session=" // how opencode is told which session to open
const ROUND = 100 // milliseconds; opencode's screen gathers what it is told for 16 of them
const SHOWN = 30_000 // how long an answer stays on the screen, in milliseconds

const EDITS = new Set(["edit", "write", "multiedit", "apply_patch", "patch"])
const QUIET = new Set([
  ...["read", "glob", "grep", "list", "ls", "lsp", "webfetch", "websearch", "codesearch"],
  ...["todoread", "todowrite", "question", "skill", "plan_enter", "plan_exit", "invalid"],
]) // tools that change no file

export const Takeback = async ({ client, directory }) => {
  if (!LAUNCHER || process.env.TAKEBACK?.toLowerCase() === "off") return {}
  const stdio = new StdioClient(directory)
  const parents = new Map() // session -> the session whose subagent it is, or null
  const reverts = new Map() // session -> the message that opencode itself went back to
  const busy = new Set() // sessions with a running turn
  const met = new Set() // sessions that have been prompted here
  let answers = false // whether `/takeback` is ours
  let last = Promise.resolve() // one event after the other, in the order in which they came

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

  // Tells the person what is not kept, once per turn; nobody waits for it.
  const warned = (heard) => {
    if (!heard?.warning) return heard
    const body = { title: "takeback", message: heard.warning, variant: "warning", duration: SHOWN }
    void guarded(() => client.tui.showToast({ body }))
    return heard
  }

  const tell = (event, id, more = {}, { conversation = true } = {}) => {
    const told = last.then(async () => {
      const root = await rootOf(id)
      const subagent = root === id ? null : id
      if (subagent && !event.startsWith("tool.")) return null
      const payload = { event, sessionID: root, subagent, directory, pid: process.pid, ...more }
      if (!conversation) return warned(await stdio.ask("event", { event: payload }))
      const [session, messages] = await Promise.all([one(root), messagesOf(root)])
      // One line per message, and last what changes with each: keeping it again costs no room.
      const lines = [...messages, { session }].map((line) => JSON.stringify(line) + "\n")
      payload.conversation = lines.join("")
      if (event === "chat.message" && !met.has(root)) {
        met.add(root)
        const fork = await forkOf(session, messages)
        if (fork) await stdio.ask("event", { event: { ...payload, ...fork } })
      }
      return warned(await stdio.ask("event", { event: payload }))
    })
    last = told.catch(() => null)
    return withLimit(last)
  }

  // opencode does not say what a fork was made from; its title does, if only one session has it.
  const forkOf = async (session, messages) => {
    const [, title, number] = /^(.+) \(fork #(\d+)\)$/.exec(session?.title ?? "") ?? []
    if (!title) return null
    const named = number === "1" ? title : `${title} (fork #${number - 1})`
    const all = (await client.session.list()).data ?? []
    const found = all.filter((s) => s.title === named && !s.parentID && s.id !== session.id)
    if (found.length !== 1) return null
    const theirs = await messagesOf(found[0].id)
    const entry = theirs[messages.length]?.info.id // the first message that was left out
    return { event: "session.forked", parent: found[0].id, entry }
  }

  // What takeback answers to `/takeback ...`.
  const answer = async (id, words) => {
    const typed = { message: "typed", texts: [{ text: `/takeback ${words}` }] }
    const payload = { event: "chat.message", sessionID: await rootOf(id), directory, ...typed }
    return stdio.ask("event", { event: payload }, PATIENCE)
  }

  // Goes on with the session that takeback made, or went back to, as the person would.
  const goOn = async ({ kind, resume }) => {
    const made = kind === "rewind" || kind === "fork"
    const next = resume.argv.find((word) => word.startsWith(SESSION))?.slice(SESSION.length)
    if (!next) return publish("tui.command.execute", { command: "session.new" })
    // What was imported is unknown to the screen until it is changed, if only to what it is; one
    // that it has to look up it draws over its messages.
    const found = made && (await one(next))
    if (found) await client.session.update({ path: { id: next }, body: { title: found.title } })
    await publish("tui.session.select", { sessionID: next })
  }

  // Puts a prompt into the editor, and returns when a switch takes it along: the screen has to have
  // dealt with it before, in a round of its own.
  const type = async (text) => {
    await client.tui.appendPrompt({ body: { text } })
    await new Promise((resolve) => setTimeout(resolve, ROUND))
  }

  const publish = (type, properties) => client.tui.publish({ body: { type, properties } })

  const events = {
    // Not reported: a session begins with its first prompt, which comes at once.
    "session.created": ({ info }) => void parents.set(info.id, info.parentID ?? null),
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
        if (parts.every((part) => part.ignored)) return // meant for the person, not the model
        const texts = parts.filter((part) => part.type === "text").map(asText)
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
    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      if (QUIET.has(tool)) return
      const exit = output?.metadata?.exit // of a command
      const call = { tool, call: callID, args: named(args), exit }
      await guarded(() => tell("tool.execute.after", sessionID, call))
    },
    "shell.env": async ({ sessionID }, { env }) => {
      await guarded(async () => {
        if (!sessionID) return
        env.TAKEBACK_AGENT = AGENT
        env.TAKEBACK_SESSION_ID = await rootOf(sessionID)
      })
    },
    config: async (config) => {
      await guarded(() => {
        if (config.command?.takeback) return // the person has a command of that name
        const takeback = { template: "takeback $ARGUMENTS", description: "Take back a turn" }
        config.command = { ...config.command, takeback }
        answers = true
      })
    },
    "command.execute.before": async ({ command, sessionID, arguments: words }) => {
      if (command !== "takeback" || !answers) return
      const told = await guarded(() => answer(sessionID, words))
      const { resume, editor } = told?.outcome ?? {}
      if (editor) await guarded(() => type(editor))
      if (resume?.argv.length) await guarded(() => goOn(told.outcome))
      const message = told?.answer || "takeback did not answer; run: takeback doctor"
      const body = { title: "takeback", message, variant: "info", duration: SHOWN }
      await guarded(() => client.tui.showToast({ body }))
      throw new Error("takeback has answered") // so that no model is asked; nobody sees it
    },
    dispose: async () => {
      for (const id of busy) tell("dispose", id, {}, { conversation: false })
      await guarded(() => withLimit(last))
      stdio.close()
    },
  }
}

// What opencode itself put into a prompt, such as a file that it mentions, can be long.
const asText = ({ text, synthetic }) => (synthetic ? { synthetic } : { text })

// The files that a tool names; their contents are already in the conversation.
const named = (args) => ({
  filePath: args?.filePath,
  patchText: args?.patchText,
  command: args?.command,
})

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

// One takeback for as long as opencode lives; started at the first event, and again if it ends.
class StdioClient {
  #directory
  #child = null
  #failures = 0
  #number = 0
  #waiting = new Map()

  constructor(directory) {
    this.#directory = directory
  }

  ask(call, fields, limit = LIMIT) {
    if (!this.#child && this.#failures < ATTEMPTS) this.#start()
    const child = this.#child
    if (!child) return Promise.resolve(null)
    const id = ++this.#number
    return new Promise((resolve) => {
      const timer = setTimeout(() => child.kill("SIGKILL"), limit) // it hangs; no file is lost
      this.#waiting.set(id, (result) => {
        clearTimeout(timer)
        resolve(result)
      })
      child.stdin.write(JSON.stringify({ id, call, ...fields }) + "\n")
    })
  }

  close() {
    this.#failures = ATTEMPTS
    this.#child?.stdin.end()
  }

  #start() {
    // In a group of its own: an interrupt from the terminal must not end what keeps the files.
    const child = spawn(LAUNCHER, [AGENT, "--stdio"], {
      cwd: this.#directory,
      // takeback has opencode import a new session: it finds this very one if PATH has none.
      env: { ...process.env, PATH: `${process.env.PATH}:${dirname(process.execPath)}` },
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
    })
    this.#child = child
    let text = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (piece) => {
      const lines = (text + piece).split("\n")
      text = lines.pop()
      for (const line of lines) this.#hear(line)
    })
    for (const end of [child, child.stdin]) end.on("error", () => this.#gone(child))
    child.on("close", () => this.#gone(child))
    child.unref()
  }

  #hear(line) {
    try {
      const { id, ok, result } = JSON.parse(line)
      this.#failures = Math.min(this.#failures, 1)
      this.#waiting.get(id)?.(ok ? result : null)
      this.#waiting.delete(id)
    } catch {
      // what is not an answer is ignored
    }
  }

  #gone(child) {
    if (this.#child !== child) return
    this.#child = null
    this.#failures += 1
    for (const resolve of this.#waiting.values()) resolve(null)
    this.#waiting.clear()
  }
}
