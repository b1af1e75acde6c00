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
import type { StdioClient } from "./client.ts";
import { type Document, Travel } from "./travel.ts";

const BOTH = "files + conversation";
const CONVERSATION = "conversation only";
const FILES = "files only";
const UNDO = "undo the last rewind";
const KEEP = "keep files";
const RESTORE = "restore files";
const REVERT = "revert this turn only, keep what came later";
/** What can be kept, as takeback names it, and how it is offered. */
const KEEPING: Record<string, string> = { edits: ", keep your own edits", "all others": ", only what its session changed" };
const UNDO_AND_GO = "undo the last rewind, then navigate";
const SCOPES: Record<string, string> = { [BOTH]: "both", [CONVERSATION]: "conversation", [FILES]: "files" };
type Node = Record<string, unknown>;

/** What could be done with the files: the place's checkpoint, if there is one, and its plan. */
interface Found {
	title: string;
	canUndo: boolean;
	target?: string;
	/** The turn that begins there, if one does. */
	turn?: string;
	plan?: Document;
	counts?: string;
}

export class Menus {
	private way: Travel;

	constructor(stdio: StdioClient, silent: boolean) {
		this.way = new Travel(stdio, silent);
	}

	/** True while a question of ours is on the screen. */
	get asking(): boolean {
		return this.way.asking;
	}

	// -- /takeback

	async pick(args: string, ctx: ExtensionCommandContext): Promise<void> {
		if (!ctx.hasUI) return;
		if (!ctx.isIdle()) return ctx.ui.notify("takeback: pi is working; press Esc first", "warning");
		const word = args.trim();
		if (word === "undo" || word === "redo") return this.stepAndFollow(word, ctx);
		if (word && !/^\d+$/.test(word)) return this.answer(word, ctx);
		const { turns } = await this.way.demand(ctx, "turns", { session: ctx.sessionManager.getSessionId() });
		const { can_undo } = await this.way.demand(ctx, "counts", {});
		const wanted = turns.find((turn: Document) => String(turn.turn) === word);
		if (word && !wanted) return ctx.ui.notify(`takeback: there is no turn ${word}`, "warning");
		const lines = turns.map((turn: Document) => turn.line);
		if (lines.length + can_undo === 0) return ctx.ui.notify("takeback: no turn yet", "info");
		const title = "takeback: go back to before which turn?";
		const picked = wanted?.line ?? (await this.way.select(ctx, title, [...lines, ...(can_undo ? [UNDO] : [])]));
		if (picked === undefined) return;
		if (picked === UNDO) return this.stepAndFollow("undo", ctx);
		const target = turns[lines.indexOf(picked)];
		const expired = Boolean(target.expired); // its files are not kept any more: the plan says so
		const plan = await this.way.demand(ctx, "plan", { checkpoint: target.id, scope: expired ? "conversation" : "both" });
		const choice = await this.way.select(ctx, [plan.question, ...plan.lines].join("\n"), [
			...(expired ? [] : [`${BOTH} (${plan.counts})`]),
			CONVERSATION,
			...(expired ? [] : [`${FILES} (${plan.counts})`]),
			...keeping(plan, BOTH, FILES),
			...(expired ? [] : [REVERT]),
			...(can_undo ? [UNDO] : []),
		]);
		if (choice === undefined) return;
		if (choice === UNDO) return this.stepAndFollow("undo", ctx);
		const done = choice === REVERT ? await this.revert(ctx, target.id) : await this.go(ctx, target.id, choice, plan);
		if (done) await this.follow(ctx, done);
	}

	/** Does what was typed in words: takeback understands them, and answers, as in every agent. */
	private async answer(words: string, ctx: ExtensionCommandContext): Promise<void> {
		const session = ctx.sessionManager.getSessionId();
		const typed = { command: "/takeback", words: words.split(/\s+/) };
		const { answer, outcome } = await this.way.demand(ctx, "command", { session, follows: true, ...typed });
		const shown = { whole: true, ...outcome, lines: [answer] };
		if (outcome) await this.follow(ctx, shown);
		else ctx.ui.notify(answer, "info");
	}

	/** Goes to a turn in the way that was chosen; `plan` is the one on the screen, for all of it. */
	private async go(ctx: ExtensionContext, checkpoint: string, choice: string, plan: Document): Promise<Document> {
		const scope = SCOPES[choice.replace(/(, | \().*$/, "")];
		const fields = { checkpoint, scope };
		const keep = kept(choice);
		if (keep) return this.way.agreeAndGo(ctx, "rewind", { ...fields, keep });
		return this.way.travel(ctx, "rewind", fields, scope === "conversation" ? undefined : plan);
	}

	private revert(ctx: ExtensionContext, turn: string): Promise<Document> {
		return this.way.agreeAndGo(ctx, "revert", { session: ctx.sessionManager.getSessionId(), turns: [turn] });
	}

	private async stepAndFollow(kind: "undo" | "redo", ctx: ExtensionCommandContext): Promise<void> {
		const done = await this.way.agreeAndGo(ctx, kind, {});
		if (done) await this.follow(ctx, done);
	}

	/** Goes to the session in which the conversation continues, with the prompt in the editor. */
	private async follow(ctx: ExtensionCommandContext, done: Document): Promise<void> {
		const here = ctx.sessionManager.getSessionFile();
		let there: ExtensionContext = ctx; // once another session was opened, `ctx` is no longer valid
		const withSession = async (opened: ExtensionCommandContext): Promise<void> => {
			there = opened;
			if (done.editor) opened.ui.setEditorText(done.editor);
		};
		if (done.fresh) await ctx.newSession({ withSession });
		else if (done.transcript && done.transcript !== here) await ctx.switchSession(done.transcript, { withSession });
		this.way.say(there, done);
	}

	// -- /fork

	async beforeFork(event: SessionBeforeForkEvent, ctx: ExtensionContext): Promise<SessionBeforeForkResult | undefined> {
		if (!ctx.hasUI || event.position !== "before") return undefined;
		const found = await this.place(ctx, event.entryId);
		if (!found) return undefined;
		const { title, counts, target, turn, plan, canUndo } = found;
		const choice = await this.way.select(
			ctx,
			`${title}\nFork with`,
			[
				CONVERSATION,
				...(target ? [`${BOTH}${counts}`, `${FILES}${counts}`, ...keeping(plan, BOTH, FILES)] : []),
				...(turn ? [REVERT] : []),
				...(canUndo ? [UNDO] : []),
			],
			CONVERSATION,
		);
		if (choice === CONVERSATION) return undefined;
		if (choice === undefined) return { cancel: true };
		if (choice === UNDO) {
			await this.step(ctx);
			return { cancel: true };
		}
		if (turn && choice === REVERT) return this.revertAndStay(ctx, turn);
		const done = await this.restore(ctx, target, choice, plan);
		return choice.startsWith(BOTH) && done?.whole ? undefined : { cancel: true };
	}

	// -- /tree

	async beforeTree(event: SessionBeforeTreeEvent, ctx: ExtensionContext): Promise<SessionBeforeTreeResult | undefined> {
		if (!ctx.hasUI) return undefined;
		const found = await this.place(ctx, event.preparation.targetId);
		if (!found) return undefined;
		const { title, counts, target, turn, plan, canUndo } = found;
		const choice = await this.way.select(
			ctx,
			`${title}\nNavigate and`,
			[
				KEEP,
				...(target ? [`${RESTORE}${counts}`, ...keeping(plan, RESTORE)] : []),
				...(turn ? [REVERT] : []),
				...(canUndo ? [UNDO_AND_GO] : []),
			],
			KEEP,
		);
		if (choice === KEEP) return undefined;
		if (choice === undefined) return { cancel: true };
		if (choice === UNDO_AND_GO) return (await this.step(ctx)) ? undefined : { cancel: true };
		if (turn && choice === REVERT) return this.revertAndStay(ctx, turn);
		const done = await this.restore(ctx, target, choice, plan);
		return done?.whole ? undefined : { cancel: true };
	}

	/** Takes back what one turn did; a conversation that has the later ones stays where it is. */
	private async revertAndStay(ctx: ExtensionContext, turn: string): Promise<{ cancel: true }> {
		const done = await this.revert(ctx, turn);
		if (done) this.way.say(ctx, done);
		return { cancel: true };
	}

	/** Brings the files of a place back in the way that was chosen, and says what was done. */
	private async restore(ctx: ExtensionContext, target: string | undefined, choice: string, plan: Document) {
		const fields = { checkpoint: target, scope: "files" };
		const keep = kept(choice);
		const done = keep
			? await this.way.agreeAndGo(ctx, "rewind", { ...fields, keep })
			: await this.way.travel(ctx, "rewind", fields, plan);
		if (done) this.way.say(ctx, done);
		return done;
	}

	/** Finds what could be done with the files for an entry; undefined if there is nothing to ask. */
	private async place(ctx: ExtensionContext, entry: string): Promise<Found | undefined> {
		const session = ctx.sessionManager.getSessionId();
		const at = await this.way.request(ctx, "at", { session, path: pathTo(ctx, entry) });
		const kept = await this.way.request(ctx, "counts", {});
		if (!kept.ok) return undefined; // pi goes on as without us
		const canUndo = kept.result.can_undo > 0;
		if (!at.ok) return this.withoutFiles(ctx, at.error.message, canUndo);
		const place = at.result.exact ?? at.result.nearest;
		if (!place) return canUndo ? { title: "takeback: no place here", canUndo } : undefined;
		const planned = await this.way.request(ctx, "plan", { checkpoint: place.id, scope: "files" });
		if (!planned.ok) return this.withoutFiles(ctx, planned.error.message, canUndo);
		const plan = planned.result;
		const changes = plan.written.length + plan.deleted.length > 0;
		if (!changes && !plan.possible) return this.withoutFiles(ctx, plan.lines.join("\n"), canUndo);
		if (!changes && !canUndo) return undefined;
		const nearest = at.result.exact ? "" : "no place here; the nearest earlier one is ";
		const title = [`takeback: ${nearest}${plan.about}`, ...plan.lines].join("\n");
		const turn = at.result.exact && place.kind === "prompt" ? place.id : undefined;
		return { title, counts: ` (${changes ? plan.counts : "nothing to change"})`, target: place.id, turn, plan, canUndo };
	}

	/** Says why the files cannot be brought back, before pi goes on with its part. */
	private withoutFiles(ctx: ExtensionContext, why: string, canUndo: boolean): Found | undefined {
		ctx.ui.notify(`takeback: the files of this place cannot be brought back: ${why}`, "warning");
		return canUndo ? { title: "takeback: the files of this place cannot be brought back", canUndo } : undefined;
	}

	private async step(ctx: ExtensionContext): Promise<boolean> {
		const done = await this.way.agreeAndGo(ctx, "undo", {});
		if (done) this.way.say(ctx, done);
		return done?.whole === true;
	}
}

/** Returns the choices that keep what the plan would take back of the person's or another session's. */
function keeping(plan: Document, ...choices: string[]): string[] {
	const ways: string[] = plan?.can_keep ?? [];
	return ways.flatMap((way) => choices.map((choice) => choice + KEEPING[way]));
}

/** Returns what a choice keeps, as takeback names it. */
function kept(choice: string): string | undefined {
	return Object.keys(KEEPING).find((way) => choice.endsWith(KEEPING[way]));
}

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
