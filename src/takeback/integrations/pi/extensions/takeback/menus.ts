// takeback for pi: what it asks a person, and what it then does: at /takeback, /fork and /tree.
//
// What can be done and the words for it come from takeback; nothing is changed before its plan was
// shown. If files cannot be brought back, the fork or the navigation does not happen either.

import type {
	ExtensionCommandContext,
	ExtensionContext,
	SessionBeforeForkEvent,
	SessionBeforeForkResult,
	SessionBeforeTreeEvent,
	SessionBeforeTreeResult,
} from "@earendil-works/pi-coding-agent";
import type { Answer, StdioClient } from "./client.ts";

const PATIENCE = 600_000; // how long a person's own request may take, in milliseconds
const UNSEEN = 60_000; // milliseconds until we assume a client without dialogs
const BOTH = "files + conversation";
const CONVERSATION = "conversation only";
const FILES = "files only";
const UNDO = "undo the last rewind";
const KEEP = "keep files";
const RESTORE = "restore files";
const UNDO_AND_GO = "undo the last rewind, then navigate";
const SCOPES: Record<string, string> = { [BOTH]: "both", [CONVERSATION]: "conversation", [FILES]: "files" };
const WAYS: Record<string, string> = {
	keep_others: "leave those files as they are",
	overwrite_others: "take them back too",
};

// biome-ignore lint/suspicious/noExplicitAny: documents of takeback, see docs/scripting.md
type Document = any;
type Node = Record<string, unknown>;

/** What could be done with the files: the place's checkpoint, if there is one, and its plan. */
interface Found {
	title: string;
	canUndo: boolean;
	target?: string;
	plan?: Document;
	counts?: string;
}

export class Menus {
	/** True while a question of ours is on the screen. */
	asking = false;

	constructor(
		private stdio: StdioClient,
		private silent: boolean,
	) {}

	// -- /takeback

	async pick(args: string, ctx: ExtensionCommandContext): Promise<void> {
		if (!ctx.hasUI) return;
		if (!ctx.isIdle()) return ctx.ui.notify("takeback: pi is working; press Esc first", "warning");
		const word = args.trim();
		if (word === "undo" || word === "redo") return this.stepAndFollow(word, ctx);
		const { turns } = await this.demand(ctx, "turns", { session: ctx.sessionManager.getSessionId() });
		const { can_undo } = await this.demand(ctx, "counts", {});
		const wanted = turns.find((turn: Document) => String(turn.turn) === word);
		if (word && !wanted) return ctx.ui.notify(`takeback: there is no turn ${word}`, "warning");
		const lines = turns.map((turn: Document) => turn.line);
		if (lines.length + can_undo === 0) return ctx.ui.notify("takeback: no turn yet", "info");
		const title = "takeback: go back to before which turn?";
		const picked = wanted?.line ?? (await this.select(ctx, title, [...lines, ...(can_undo ? [UNDO] : [])]));
		if (picked === undefined) return;
		if (picked === UNDO) return this.stepAndFollow("undo", ctx);
		const target = turns[lines.indexOf(picked)];
		const expired = Boolean(target.expired); // its files are not kept any more: the plan says so
		const plan = await this.demand(ctx, "plan", { checkpoint: target.id, scope: expired ? "conversation" : "both" });
		const choice = await this.select(ctx, [plan.question, ...plan.lines].join("\n"), [
			...(expired ? [] : [`${BOTH} (${plan.counts})`]),
			CONVERSATION,
			...(expired ? [] : [`${FILES} (${plan.counts})`]),
			...(can_undo ? [UNDO] : []),
		]);
		if (choice === undefined) return;
		if (choice === UNDO) return this.stepAndFollow("undo", ctx);
		const scope = SCOPES[choice.replace(/ \(.*$/, "")];
		const shown = scope === "conversation" ? undefined : plan;
		const done = await this.travel(ctx, "rewind", { checkpoint: target.id, scope }, shown);
		if (done) await this.follow(ctx, done);
	}

	private async stepAndFollow(kind: "undo" | "redo", ctx: ExtensionCommandContext): Promise<void> {
		const plan = await this.demand(ctx, `plan_${kind}`, {});
		if (!(await this.confirm(ctx, plan))) return;
		const done = await this.travel(ctx, kind, {}, plan);
		if (done) await this.follow(ctx, done);
	}

	/** Goes to the session in which the conversation continues, with the prompt in the editor. */
	private async follow(ctx: ExtensionCommandContext, done: Document): Promise<void> {
		const here = ctx.sessionManager.getSessionFile();
		let there: ExtensionContext = ctx; // once another session was opened, `ctx` is no longer valid
		const withSession = async (opened: ExtensionCommandContext): Promise<void> => {
			there = opened;
			if (done.prompt) opened.ui.setEditorText(done.prompt);
		};
		if (done.fresh) await ctx.newSession({ withSession });
		else if (done.transcript && done.transcript !== here) await ctx.switchSession(done.transcript, { withSession });
		this.say(there, done);
	}

	// -- /fork

	async beforeFork(event: SessionBeforeForkEvent, ctx: ExtensionContext): Promise<SessionBeforeForkResult | undefined> {
		if (!ctx.hasUI || event.position !== "before") return undefined;
		const found = await this.place(ctx, event.entryId);
		if (!found) return undefined;
		const { title, counts, target, plan, canUndo } = found;
		const choice = await this.select(
			ctx,
			`${title}\nFork with`,
			[CONVERSATION, ...(target ? [`${BOTH}${counts}`, `${FILES}${counts}`] : []), ...(canUndo ? [UNDO] : [])],
			CONVERSATION,
		);
		if (choice === CONVERSATION) return undefined;
		if (choice === undefined) return { cancel: true };
		if (choice === UNDO) {
			await this.step(ctx);
			return { cancel: true };
		}
		const done = await this.travel(ctx, "rewind", { checkpoint: target, scope: "files" }, plan);
		if (done) this.say(ctx, done);
		return choice.startsWith(BOTH) && done?.whole ? undefined : { cancel: true };
	}

	// -- /tree

	async beforeTree(event: SessionBeforeTreeEvent, ctx: ExtensionContext): Promise<SessionBeforeTreeResult | undefined> {
		if (!ctx.hasUI) return undefined;
		const found = await this.place(ctx, event.preparation.targetId);
		if (!found) return undefined;
		const { title, counts, target, plan, canUndo } = found;
		const choice = await this.select(
			ctx,
			`${title}\nNavigate and`,
			[KEEP, ...(target ? [`${RESTORE}${counts}`] : []), ...(canUndo ? [UNDO_AND_GO] : [])],
			KEEP,
		);
		if (choice === KEEP) return undefined;
		if (choice === undefined) return { cancel: true };
		if (choice === UNDO_AND_GO) return (await this.step(ctx)) ? undefined : { cancel: true };
		const done = await this.travel(ctx, "rewind", { checkpoint: target, scope: "files" }, plan);
		if (done) this.say(ctx, done);
		return done?.whole ? undefined : { cancel: true };
	}

	/** Finds what could be done with the files for an entry; undefined if there is nothing to ask. */
	private async place(ctx: ExtensionContext, entry: string): Promise<Found | undefined> {
		const session = ctx.sessionManager.getSessionId();
		const at = await this.request(ctx, "at", { session, path: pathTo(ctx, entry) });
		const kept = await this.request(ctx, "counts", {});
		if (!kept.ok) return undefined; // pi goes on as without us
		const canUndo = kept.result.can_undo > 0;
		if (!at.ok) return this.withoutFiles(ctx, at.error.message, canUndo);
		const place = at.result.exact ?? at.result.nearest;
		if (!place) return canUndo ? { title: "takeback: no place here", canUndo } : undefined;
		const planned = await this.request(ctx, "plan", { checkpoint: place.id, scope: "files" });
		if (!planned.ok) return this.withoutFiles(ctx, planned.error.message, canUndo);
		const plan = planned.result;
		const changes = plan.written.length + plan.deleted.length > 0;
		if (!changes && !plan.possible) return this.withoutFiles(ctx, plan.lines.join("\n"), canUndo);
		if (!changes && !canUndo) return undefined;
		const nearest = at.result.exact ? "" : "no place here; the nearest earlier one is ";
		const title = [`takeback: ${nearest}${plan.about}`, ...plan.lines].join("\n");
		return { title, counts: ` (${changes ? plan.counts : "nothing to change"})`, target: place.id, plan, canUndo };
	}

	/** Says why the files cannot be brought back, before pi goes on with its part. */
	private withoutFiles(ctx: ExtensionContext, why: string, canUndo: boolean): Found | undefined {
		ctx.ui.notify(`takeback: the files of this place cannot be brought back: ${why}`, "warning");
		return canUndo ? { title: "takeback: the files of this place cannot be brought back", canUndo } : undefined;
	}

	private async step(ctx: ExtensionContext): Promise<boolean> {
		const plan = await this.demand(ctx, "plan_undo", {});
		if (!(await this.confirm(ctx, plan))) return false;
		const done = await this.travel(ctx, "undo", {}, plan);
		if (done) this.say(ctx, done);
		return done?.whole === true;
	}

	// -- the way there

	/** Does what `shown` says, after asking about each objection to it; or nothing. */
	private async travel(
		ctx: ExtensionContext,
		call: "rewind" | "undo" | "redo",
		fields: Record<string, unknown>,
		shown: Document,
	): Promise<Document> {
		const overrides: string[] = [];
		let plan = shown;
		for (let refusal = plan?.refused[0]; refusal; refusal = plan.refused[0]) {
			const flag = await this.waive(ctx, refusal);
			if (!flag) return undefined;
			overrides.push(flag);
			plan = await this.demand(ctx, call === "rewind" ? "plan" : `plan_${call}`, { ...fields, overrides });
		}
		return this.demand(ctx, call, { ...fields, overrides, plan: plan?.plan, command: "/takeback" });
	}

	private async waive(ctx: ExtensionContext, refusal: Document): Promise<string | undefined> {
		if (!refusal.waivers.length) {
			ctx.ui.notify(`takeback: ${refusal.reason}`, "error");
			return undefined;
		}
		const ways: Record<string, string> = {};
		for (const waiver of refusal.waivers) ways[WAYS[waiver] ?? "do it all the same"] = waiver;
		const choice = await this.select(ctx, `takeback: ${refusal.reason}`, [...Object.keys(ways), "do nothing"]);
		return choice === undefined ? undefined : ways[choice];
	}

	private async confirm(ctx: ExtensionContext, plan: Document): Promise<boolean> {
		const title = [plan.question, ...plan.lines].join("\n");
		return (await this.select(ctx, title, ["yes", "no"])) === "yes";
	}

	/** Shows a question. If nobody sees it, `unseen` is the answer; Esc gives none. */
	private async select(ctx: ExtensionContext, title: string, options: string[], unseen?: string) {
		const began = Date.now();
		const limited = ctx.mode !== "tui" && unseen !== undefined;
		this.asking = true;
		try {
			const choice = await ctx.ui.select(title, options, limited ? { timeout: UNSEEN } : undefined);
			return choice ?? (limited && Date.now() - began >= UNSEEN ? unseen : undefined);
		} finally {
			this.asking = false;
		}
	}

	private say(ctx: ExtensionContext, done: Document): void {
		if (!done.whole || !this.silent) ctx.ui.notify(done.lines.join("\n"), done.whole ? "info" : "warning");
	}

	private request(ctx: ExtensionContext, call: string, fields: Record<string, unknown>): Promise<Answer> {
		return this.stdio.ask(call, { cwd: ctx.sessionManager.getCwd(), ...fields }, PATIENCE);
	}

	/** Asks takeback for what a person wants; throws its objection. */
	private async demand(ctx: ExtensionContext, call: string, fields: Record<string, unknown>): Promise<Document> {
		const answer = await this.request(ctx, call, fields);
		if (answer.ok) return answer.result;
		const { message, hint } = answer.error;
		throw new Refusal(hint ? `${message} (${hint})` : message);
	}
}

/** takeback's objection to a request, to be shown to the person. */
export class Refusal extends Error {}

/** Returns the way from an entry to the root of pi's tree, as takeback's adapter reads it. */
export function pathTo(ctx: ExtensionContext, entry: string): Node[] {
	return ctx.sessionManager.getBranch(entry).reverse().map(nodeOf);
}

// biome-ignore lint/suspicious/noExplicitAny: entries of any version of pi
function nodeOf(entry: any): Node {
	const { id, type, timestamp: time, message } = entry;
	const parts = Array.isArray(message?.content) ? message.content : [];
	const text = typeof message?.content === "string" ? message.content : parts.map((part: Document) => part.text ?? "").join("");
	const tools = parts.filter((part: Document) => part.type === "toolCall").map((part: Document) => part.name);
	const role = entry.customType === "takeback" ? "note" : message?.role;
	return { id, type, time, role, ...(role === "user" ? { text: text.slice(0, 400) } : {}), ...(tools.length ? { tools } : {}) };
}
