// takeback for pi: any turn of pi can be taken back, the files, the conversation, or both.
// Put here by `takeback init pi`, taken away by `takeback uninstall pi`; do not edit.
//
//   pi ── event ──> this file ── one JSON line ──> takeback hook pi --stdio      (client.ts)
//
// It decides nothing: it forwards what pi says, with the session, its file and the leaf, waits until
// takeback has kept the files, and shows what takeback answers. A handler of ours never throws.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { StdioClient } from "./client.ts";
import { Menus, pathTo } from "./menus.ts";
import { readSettings } from "./settings.ts";
import { Refusal } from "./travel.ts";

const LIMIT = 7_000; // milliseconds that pi waits for an event at most; takeback's own limit is 5 s
const DOUBLE = 500; // milliseconds between two keys that belong together
const EDITS = ["edit", "write"];

// The process outlives a session: pi reloads extensions for each one.
const shared = globalThis as { takebackStdio?: StdioClient };

export default function takeback(pi: ExtensionAPI): void {
	if (process.env.TAKEBACK?.toLowerCase() === "off") return;
	const settings = readSettings(process.env);
	const stdio = (shared.takebackStdio ??= new StdioClient(settings.command));
	const menus = new Menus(stdio, settings.silent);
	let typed: string | undefined; // what the person typed, before pi expands it
	let labelled = 0; // how many entries have been searched for labels

	/** Reports an event to takeback and waits; returns what takeback has to say, if anything. */
	async function tell(name: string, ctx: ExtensionContext, more: Record<string, unknown> = {}) {
		const session = ctx.sessionManager;
		const event = {
			hook_event_name: name,
			session_id: session.getSessionId(),
			transcript_path: session.getSessionFile() ?? null,
			leaf: session.getLeafId(),
			cwd: session.getCwd(),
			pid: process.pid,
			...more,
		};
		const answer = await stdio.ask("event", { event }, LIMIT);
		if (!answer.ok) return undefined;
		if (answer.result.warning && ctx.hasUI) ctx.ui.notify(answer.result.warning, "warning");
		return answer.result;
	}

	/** Runs a handler; whatever goes wrong in it, pi goes on as without us. */
	async function guarded<T>(ctx: ExtensionContext, work: () => Promise<T>): Promise<T | undefined> {
		try {
			return await work();
		} catch (error) {
			if (error instanceof Refusal) ctx.ui.notify(`takeback: ${error.message}`, "error");
			return undefined;
		}
	}

	/** Runs a handler that may bring files back; if that fails, pi does not do its part either. */
	async function orCancelled<T>(ctx: ExtensionContext, work: () => Promise<T>): Promise<T | { cancel: true } | undefined> {
		try {
			return await work();
		} catch (error) {
			if (!(error instanceof Refusal)) return undefined;
			ctx.ui.notify(`takeback: ${error.message}`, "error");
			return { cancel: true };
		}
	}

	/** Updates the footer; nobody waits for it. */
	function footer(ctx: ExtensionContext): void {
		if (settings.silent || !ctx.hasUI) return;
		void guarded(ctx, async () => {
			const counts = await stdio.ask("counts", { cwd: ctx.sessionManager.getCwd() }, LIMIT);
			ctx.ui.setStatus("takeback", counts.ok ? (counts.result.line ?? undefined) : stdio.trouble || undefined);
		});
	}

	/** Pins the places that the person has labelled since; pi has no event for that. */
	async function pin(ctx: ExtensionContext): Promise<void> {
		const session = ctx.sessionManager;
		const entries = session.getEntries();
		const fresh = entries.slice(labelled);
		const known = entries.slice(0, labelled);
		labelled = entries.length;
		for (const entry of fresh) {
			if (entry.type === "label") {
				const same = (other: (typeof entries)[number]) => other.type === "label" && other.targetId === entry.targetId;
				const was = known.findLast(same) as typeof entry | undefined;
				const about = { session: session.getSessionId(), cwd: session.getCwd(), path: pathTo(ctx, entry.targetId) };
				await stdio.ask("pin", { ...about, label: entry.label ?? null, was: was?.label ?? null }, LIMIT);
			}
			known.push(entry);
		}
	}

	/** Lets Esc Esc on an empty editor open the picker. */
	function listen(ctx: ExtensionContext): void {
		let last = 0;
		ctx.ui.onTerminalInput((data) => {
			try {
				if (/^\x1b\[27(;\d+)?:3u$/.test(data)) return undefined; // the key is released
				const escape = data === "\x1b" || /^\x1b\[27(;1)?(:[12])?u$/.test(data);
				const idle = escape && !menus.asking && ctx.isIdle() && hasFocus() && !ctx.ui.getEditorText().trim();
				const now = Date.now();
				const twice = idle && now - last < DOUBLE;
				last = idle && !twice ? now : 0;
				if (!twice) return undefined;
				pi.sendUserMessage("/takeback", { expandPromptTemplates: true });
				return { consume: true };
			} catch {
				return undefined;
			}
		});
		// A component without a line of its own, to find out from the screen what has the focus.
		let hasFocus = () => true;
		ctx.ui.setWidget(
			"takeback",
			(tui) => {
				const screen = tui as { getFocusedComponent?: () => object | null };
				hasFocus = () => "getText" in (screen.getFocusedComponent?.() ?? { getText: true });
				return { render: () => [], invalidate: () => {} };
			},
			{ placement: "belowEditor" },
		);
	}

	pi.on("session_start", async (event, ctx) => {
		await guarded(ctx, async () => {
			labelled = ctx.sessionManager.getEntries().length;
			const parent_session = ctx.sessionManager.getHeader()?.parentSession ?? null;
			await tell("session_start", ctx, { reason: event.reason, parent_session });
			footer(ctx);
			if (ctx.mode === "tui" && settings.escape) listen(ctx);
		});
	});

	pi.on("input", async (event, ctx) => {
		await guarded(ctx, async () => {
			if (event.streamingBehavior === undefined) {
				typed = event.text;
				return;
			}
			const about = { prompt: event.text, behavior: event.streamingBehavior };
			const heard = await tell("input", ctx, about);
			if (heard?.note) pi.sendMessage(noteOf(heard.note), { deliverAs: "steer" });
		});
		return undefined;
	});

	pi.on("before_agent_start", (event, ctx) =>
		guarded(ctx, async () => {
			const heard = await tell("before_agent_start", ctx, { prompt: typed ?? event.prompt });
			typed = undefined;
			// Sent at once it comes before the prompt; as this handler's answer it would come after it.
			if (heard?.note) pi.sendMessage(noteOf(heard.note), { triggerTurn: false });
		}),
	);

	const noteOf = (content: string) => ({ customType: "takeback", content, display: !settings.silent });

	pi.on("tool_call", async (event, ctx) => {
		if (EDITS.includes(event.toolName)) {
			const tools = [{ name: event.toolName, path: (event.input as { path?: unknown }).path }];
			await guarded(ctx, () => tell("tool_call", ctx, { tools }));
		}
		return undefined;
	});

	pi.on("turn_end", async (event, ctx) => {
		await guarded(ctx, async () => {
			const parts = event.message.role === "assistant" ? event.message.content : [];
			const calls = parts.flatMap((part) => (part.type === "toolCall" ? [part] : []));
			const failed = new Map((event.toolResults ?? []).map((result) => [result.toolCallId, result.isError]));
			const tools = calls.map((call) => ({
				name: call.name,
				path: call.arguments?.path,
				command: call.arguments?.command,
				failed: failed.get(call.id),
			}));
			await tell("turn_end", ctx, { entry: event.messageEntryId, tools });
		});
		return undefined;
	});

	pi.on("agent_settled", async (_event, ctx) => {
		await guarded(ctx, async () => {
			await tell("agent_settled", ctx);
			await pin(ctx);
			footer(ctx);
		});
	});

	pi.on("session_compact", async (event, ctx) => {
		await guarded(ctx, () => tell("session_compact", ctx, { reason: event.reason }));
	});

	pi.on("session_before_fork", async (event, ctx) => {
		await guarded(ctx, async () => {
			const { entryId: entry, position } = event;
			await tell("session_before_fork", ctx, { entry, position, path: pathTo(ctx, entry) });
			await pin(ctx);
		});
		return orCancelled(ctx, () => menus.beforeFork(event, ctx));
	});

	pi.on("session_before_tree", async (event, ctx) => {
		await guarded(ctx, async () => {
			await tell("session_before_tree", ctx, { entry: event.preparation.targetId });
			await pin(ctx);
		});
		return orCancelled(ctx, () => menus.beforeTree(event, ctx));
	});

	pi.on("session_tree", async (_event, ctx) => {
		await guarded(ctx, async () => {
			await tell("session_tree", ctx);
			footer(ctx);
		});
	});

	pi.on("session_shutdown", async (event, ctx) => {
		await guarded(ctx, async () => {
			await pin(ctx);
			await tell("session_shutdown", ctx, { reason: event.reason });
			if (event.reason === "quit" || event.reason === "reload") {
				shared.takebackStdio = undefined;
				await stdio.end();
			}
		});
	});

	pi.registerCommand("takeback", {
		description: "Take back turns: files, conversation, or both",
		handler: async (args, ctx) => {
			await guarded(ctx, () => menus.pick(args, ctx));
			await guarded(ctx, async () => footer(ctx));
		},
	});
}
