// takeback for pi: the one process that it talks to, `takeback hook pi --stdio`.
//
// One JSON document per line, each with a number; answers come in the order of the questions. Nothing
// here throws, and nobody waits longer than a limit: whatever happens to takeback, pi goes on.

import { type ChildProcess, spawn } from "node:child_process";
import { homedir } from "node:os";

export interface Failure {
	code: string;
	message: string;
	hint: string;
	flag: string;
}

// biome-ignore lint/suspicious/noExplicitAny: what takeback answers is described in docs/scripting.md
export type Answer = { ok: true; result: any } | { ok: false; error: Failure };

interface Request {
	line: string;
	again: boolean; // may be asked once more if takeback ends before it has answered
	answered: (answer: Answer) => void;
}

const ATTEMPTS = 3; // how many starts may end without an answer before we give up
const BEHIND = 10_000; // milliseconds
const PARTING = 3_000; // milliseconds

export class StdioClient {
	private child: ChildProcess | undefined;
	private number = 0;
	private waiting = new Map<number, Request>();
	private overdue = 0;
	private failures = 0;
	private reason = "";

	constructor(private command: string[]) {}

	/** Why takeback does not answer, in words; empty while it does. */
	get trouble(): string {
		return this.failures >= ATTEMPTS ? `takeback is not there: ${this.reason}` : "";
	}

	/** Asks takeback; after `limit` milliseconds the answer says that there was none. */
	ask(call: string, fields: Record<string, unknown>, limit: number): Promise<Answer> {
		const child = this.started();
		if (!child) return Promise.resolve(failed("gone", this.reason || "takeback cannot be started"));
		const id = ++this.number;
		return new Promise((resolve) => {
			let late = false;
			// The timer keeps pi alive while it waits; the process alone does not.
			const timer = setTimeout(
				() => {
					late = true;
					this.overdue++;
					resolve(failed("timeout", "takeback has not answered in time"));
				},
				// If takeback is already behind, it is told, but not waited for again, or not for long.
				this.overdue === 0 ? limit : call === "event" ? 0 : Math.min(limit, BEHIND),
			);
			const answered = (answer: Answer) => {
				this.waiting.delete(id);
				clearTimeout(timer);
				if (late) this.overdue--;
				resolve(answer);
			};
			const line = `${JSON.stringify({ id, call, ...fields })}\n`;
			this.waiting.set(id, { line, again: call === "event", answered });
			child.stdin?.write(line);
		});
	}

	/** Ends the conversation; takeback ends when it has read everything. */
	end(): Promise<void> {
		const child = this.child;
		this.child = undefined;
		if (!child || child.exitCode !== null) return Promise.resolve();
		return new Promise((resolve) => {
			const timer = setTimeout(resolve, this.overdue > 0 ? 0 : PARTING);
			child.once("exit", () => {
				clearTimeout(timer);
				resolve();
			});
			child.stdin?.end();
		});
	}

	private started(): ChildProcess | undefined {
		if (this.child || this.failures >= ATTEMPTS) return this.child;
		const [program, ...args] = this.command;
		// Not of the session that this pi may itself have been started in, by a tool.
		const { PI_SESSION_ID: _id, PI_SESSION_FILE: _file, ...env } = process.env;
		try {
			// In a group of its own, so that Ctrl+C for pi does not end it in the middle of a capture.
			const options = { cwd: homedir(), env, detached: true, stdio: ["pipe", "pipe", "ignore"] as const };
			const child = spawn(program as string, args, { ...options, stdio: [...options.stdio] });
			this.child = child;
			this.listen(child);
		} catch (error) {
			this.lost(undefined, String(error));
		}
		return this.child;
	}

	private listen(child: ChildProcess): void {
		let rest = "";
		child.stdout?.setEncoding("utf8");
		child.stdout?.on("data", (piece: string) => {
			const lines = (rest + piece).split("\n");
			rest = lines.pop() ?? "";
			for (const line of lines) this.heard(line);
		});
		child.stdin?.on("error", () => {}); // the process is gone, which its exit event reports too
		child.on("error", (error) => this.lost(child, error.message));
		child.on("exit", () => this.lost(child, `${this.command.join(" ")} has ended`));
		child.unref();
		for (const pipe of [child.stdin, child.stdout]) (pipe as { unref?: () => void } | null)?.unref?.();
	}

	private heard(line: string): void {
		try {
			const { id, ...answer } = JSON.parse(line);
			this.failures = 0;
			this.waiting.get(id)?.answered(answer as Answer);
		} catch {
			// not a line of ours
		}
	}

	private lost(child: ChildProcess | undefined, reason: string): void {
		if (this.child !== child) return;
		this.child = undefined;
		this.failures++;
		this.reason = reason;
		for (const request of [...this.waiting.values()]) {
			const child = request.again ? this.started() : undefined;
			request.again = false;
			if (child) child.stdin?.write(request.line);
			else request.answered(failed("gone", reason));
		}
	}
}

function failed(code: string, message: string): Answer {
	return { ok: false, error: { code, message, hint: "", flag: "" } };
}
