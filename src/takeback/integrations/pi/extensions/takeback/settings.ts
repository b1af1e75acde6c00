// takeback for pi: where takeback is, and what the person has set in ~/.pi/agent/takeback.json:
//
//   {"silent": true}             no footer and no notices; questions and failures are still shown
//   {"escape": false}            Esc Esc stays as pi has it
//   {"command": ["takeback"]}    how takeback is started, if not as `takeback init` recorded it

import { accessSync, constants, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

const LAUNCHER = ""; // `takeback init` writes the path of its launcher here

export interface Settings {
	silent: boolean;
	escape: boolean;
	command: string[];
}

export function readSettings(env: NodeJS.ProcessEnv): Settings {
	const folder = env.PI_CODING_AGENT_DIR?.replace(/^~(?=$|\/)/, homedir()) || join(homedir(), ".pi", "agent");
	const own = readJson(join(folder, "takeback.json"));
	const pi = readJson(join(folder, "settings.json"));
	return {
		silent: own.silent === true,
		// If the person has chosen what Esc Esc does, that counts.
		escape: own.escape === true || (own.escape !== false && pi.doubleEscapeAction === undefined),
		command: commandOf(env, own.command),
	};
}

function commandOf(env: NodeJS.ProcessEnv, own: unknown): string[] {
	const words = env.TAKEBACK_COMMAND ? env.TAKEBACK_COMMAND.trim().split(/\s+/) : own;
	if (Array.isArray(words) && words.length > 0) return [...words.map(String), "hook", "pi", "--stdio"];
	// The launcher's path never changes: it finds the current takeback, also after an upgrade.
	const data = env.XDG_DATA_HOME || join(homedir(), ".local", "share");
	const home = env.TAKEBACK_HOME ? resolve(env.TAKEBACK_HOME) : join(resolve(data), "takeback");
	const launcher = [LAUNCHER, join(home, "bin", "hook")].find((path) => path && runs(path));
	return launcher ? [launcher, "pi", "--stdio"] : ["takeback", "hook", "pi", "--stdio"];
}

function runs(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

function readJson(path: string): Record<string, unknown> {
	try {
		const found: unknown = JSON.parse(readFileSync(path, "utf8"));
		return typeof found === "object" && found !== null ? (found as Record<string, unknown>) : {};
	} catch {
		return {};
	}
}
