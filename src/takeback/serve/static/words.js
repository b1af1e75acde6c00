// Small words: numbers, times, sizes, and what a turn is called. Sentences come from the server.

const DAY = 86_400_000;

export function count(number, word, many = `${word}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? word : many}`;
}

/** Returns bytes as the terminal shows them (words/text.py): a KB has 1,024, halves are rounded up. */
export function bytes(number) {
  const units = ["KB", "MB", "GB", "TB"];
  if (number < 1024) return `${number} bytes`;
  let at = 0;
  let size = number / 1024;
  while (size >= 1024 && at < units.length - 1) [size, at] = [size / 1024, at + 1];
  return `${(Math.floor(size * 10 + 0.5) / 10).toFixed(1)} ${units[at]}`;
}

/** Returns a time as one reads it: the hour today, the day this year, else the date. */
export function when(time, today = new Date()) {
  if (!time) return "";
  const then = new Date(time);
  const hour = then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (then.toDateString() === today.toDateString()) return hour;
  const day = { day: "numeric", month: "short" };
  if (then.getFullYear() !== today.getFullYear()) day.year = "numeric";
  const date = then.toLocaleDateString("en-GB", day);
  return today - then < 7 * DAY ? `${date}, ${hour}` : date;
}

/** Returns the first line of a prompt. */
export function firstLine(text) {
  return (text ?? "").trim().split("\n", 1)[0];
}

const KINDS = {
  manual: "Checkpoint by hand",
  shell: "Command",
  compaction: "Conversation compacted",
  fork: "Forked session begins",
  branch: "Branch",
};

/** Returns the label of a row: one that a model gave begins with that, as in terminals. */
export function labelOf(turn) {
  return turn.label && turn.label_by ? `model's: ${turn.label}` : turn.label;
}

/** Returns what a row of the timeline is called. */
export function titleOf(turn) {
  return firstLine(turn.prompt) || labelOf(turn) || KINDS[turn.kind] || turn.kind;
}

export function numberOf(turn) {
  return turn.turn && (turn.kind === "prompt" || turn.kind === "steer") ? `turn ${turn.turn}` : "";
}

/** Returns the sentence for a failure: what happened, and what to do about it. */
export function sentence(failure) {
  const said = failure.message ? capital(failure.message) : "That did not work";
  const hint = failure.hint ? ` ${capital(failure.hint)}.` : "";
  return `${said.replace(/[.]?$/, ".")}${hint.replace(/[.]+$/, ".")}`;
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
