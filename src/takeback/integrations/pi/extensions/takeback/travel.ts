// takeback for pi: from a plan to what was done, with the questions between them.
//
// Conflicts are asked about one by one, and so is each objection to a plan; the words for that come
// from takeback. Whoever leaves a question leaves everything as it is.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Answer, StdioClient } from "./client.ts";

const PATIENCE = 600_000; // how long a person's own request may take, in milliseconds
const UNSEEN = 60_000; // milliseconds until we assume a client without dialogs
const WAYS: Record<string, string> = {
	keep_others: "leave those files as they are",
	overwrite_others: "take them back too",
};

// biome-ignore lint/suspicious/noExplicitAny: documents of takeback, see docs/scripting.md
export type Document = any;
type Deed = "rewind" | "revert" | "undo" | "redo";

/** What was chosen about the disputed stretches of a file, in order. */
interface Chosen {
	path: string;
	path_b64?: string;
	choices: string[];
}

export class Travel {
	/** True while a question of ours is on the screen. */
	asking = false;

	constructor(
		private stdio: StdioClient,
		private silent: boolean,
	) {}

	/** Shows the plan of something and does it, if the person agrees. */
	async agreeAndGo(ctx: ExtensionContext, call: Deed, fields: Record<string, unknown>): Promise<Document> {
		const plan = await this.demand(ctx, planOf(call), fields);
		return (await this.confirm(ctx, plan)) ? this.travel(ctx, call, fields, plan) : undefined;
	}

	/** Does what `shown` says, after asking about each conflict and objection; or nothing. */
	async travel(
		ctx: ExtensionContext,
		call: Deed,
		fields: Record<string, unknown>,
		shown: Document,
	): Promise<Document> {
		const overrides: string[] = [];
		const chosen = new Map<string, Chosen>();
		let plan = shown;
		while (plan?.disputes?.length || plan?.refused.length) {
			const disputed = plan.disputes?.length > 0;
			if (disputed) {
				if (!(await this.settle(ctx, plan.disputes, chosen))) return undefined;
			} else {
				const flag = await this.waive(ctx, plan);
				if (!flag) return undefined;
				overrides.push(flag);
			}
			plan = await this.demand(ctx, planOf(call), { ...fields, ...settled(chosen), overrides });
			// By a choice other files change than those that were shown.
			if (disputed && !plan.disputes?.length && !(await this.confirm(ctx, plan))) return undefined;
		}
		const agreed = { overrides, plan: plan?.plan, command: "/takeback" };
		return this.demand(ctx, call, { ...fields, ...settled(chosen), ...agreed });
	}

	/** Asks about each disputed stretch; false if the person leaves one of the questions. */
	private async settle(ctx: ExtensionContext, disputes: Document[], chosen: Map<string, Chosen>): Promise<boolean> {
		let last: Document;
		for (const dispute of disputes) {
			const { path, path_b64, first } = dispute;
			const key = path_b64 ?? path;
			const { choices } = chosen.get(key) ?? { choices: [] };
			const same = last !== undefined && key === (last.path_b64 ?? last.path) && first === last.first;
			const before = same ? choices : choices.slice(0, first);
			// The rest of a file that is left as it is needs no other answer.
			const skips = same && choices.at(-1) === "skip";
			const choice = skips ? "skip" : await this.choose(ctx, dispute);
			if (choice === undefined) return false;
			chosen.set(key, { path, path_b64, choices: [...before, choice] });
			last = dispute;
		}
		return true;
	}

	private async choose(ctx: ExtensionContext, dispute: Document): Promise<string | undefined> {
		const title = [`takeback: ${dispute.question}`, ...dispute.lines].join("\n");
		const options: string[] = dispute.choices.map((one: Document) => one.words);
		const words = await this.select(ctx, title, options);
		return dispute.choices.find((one: Document) => one.words === words)?.choice;
	}

	private async waive(ctx: ExtensionContext, plan: Document): Promise<string | undefined> {
		const refusal = plan.refused[0];
		if (!refusal.waivers.length) {
			ctx.ui.notify(`takeback: ${refusal.reason}`, "error");
			return undefined;
		}
		const ways: Record<string, string> = {};
		for (const waiver of refusal.waivers) ways[WAYS[waiver] ?? "do it all the same"] = waiver;
		const choice = await this.select(ctx, `takeback: ${refusal.reason}`, [...Object.keys(ways), "do nothing"]);
		const waiver = choice === undefined ? undefined : ways[choice];
		const word = plan.questions?.find((one: Document) => one.code === refusal.code)?.word;
		if (!waiver || !word || (await this.isTyped(ctx, refusal.reason, word))) return waiver;
		ctx.ui.notify(`takeback: ${word} was not typed; nothing was changed`, "warning");
		return undefined;
	}

	/** Has the person type a word: most of the files would be deleted, and Enter alone is too quick. */
	private async isTyped(ctx: ExtensionContext, reason: string, word: string): Promise<boolean> {
		this.asking = true;
		try {
			const typed = await ctx.ui.input(`takeback: ${reason}. Type the word ${word} to go on:`, word);
			return typed?.trim() === word;
		} finally {
			this.asking = false;
		}
	}

	async confirm(ctx: ExtensionContext, plan: Document): Promise<boolean> {
		const title = [plan.question, ...plan.lines].join("\n");
		return (await this.select(ctx, title, ["yes", "no"])) === "yes";
	}

	/** Shows a question. If nobody sees it, `unseen` is the answer; Esc gives none. */
	async select(ctx: ExtensionContext, title: string, options: string[], unseen?: string) {
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

	say(ctx: ExtensionContext, done: Document): void {
		if (!done.whole || !this.silent) ctx.ui.notify(done.lines.join("\n"), done.whole ? "info" : "warning");
	}

	request(ctx: ExtensionContext, call: string, fields: Record<string, unknown>): Promise<Answer> {
		return this.stdio.ask(call, { cwd: ctx.sessionManager.getCwd(), ...fields }, PATIENCE);
	}

	/** Asks takeback for what a person wants; throws its objection. */
	async demand(ctx: ExtensionContext, call: string, fields: Record<string, unknown>): Promise<Document> {
		const answer = await this.request(ctx, call, fields);
		if (answer.ok) return answer.result;
		const { message, hint } = answer.error;
		throw new Refusal(hint ? `${message} (${hint})` : message);
	}
}

function planOf(call: Deed): string {
	return call === "rewind" ? "plan" : `plan_${call}`;
}

function settled(chosen: Map<string, Chosen>): Record<string, unknown> {
	return chosen.size ? { conflicts: [...chosen.values()] } : {};
}

/** takeback's objection to a request, to be shown to the person. */
export class Refusal extends Error {}
