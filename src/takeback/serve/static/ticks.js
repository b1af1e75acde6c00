// What is ticked of what going back would change: whole files, and single hunks of others. Only
// what is ticked is taken back.

export class Ticks {
  constructor() {
    this.hunks = new Map(); // path -> the numbers that are ticked
    this.whole = new Set(); // paths of which all is ticked
  }

  get empty() {
    return this.whole.size === 0 && this.hunks.size === 0;
  }

  /** Returns all, some or none. */
  of(path) {
    if (this.whole.has(path)) return "all";
    return this.hunks.has(path) ? "some" : "none";
  }

  has(path, number) {
    return this.whole.has(path) || (this.hunks.get(path)?.has(number) ?? false);
  }

  file(path, on) {
    this.hunks.delete(path);
    if (on) this.whole.add(path);
    else this.whole.delete(path);
  }

  /** Ticks a hunk; a file of which each is ticked is ticked as a whole. */
  hunk(change, number, on) {
    const numbers = change.hunks.map((hunk) => hunk.number);
    const ticked = new Set(this.whole.has(change.path) ? numbers : this.hunks.get(change.path));
    if (on) ticked.add(number);
    else ticked.delete(number);
    this.file(change.path, ticked.size === numbers.length);
    if (ticked.size && ticked.size < numbers.length) this.hunks.set(change.path, ticked);
  }

  /** Returns the words of a plan that takes back only this, of the changes as they were seen. */
  words(changes) {
    const sorted = [...this.hunks].map(([path, numbers]) => [path, [...numbers].sort((a, b) => a - b)]);
    const seen = changes.filter((one) => this.hunks.has(one.path)).map((one) => [one.path, one.seen]);
    return { paths: [...this.whole].sort(), hunks: Object.fromEntries(sorted), seen: Object.fromEntries(seen) };
  }

  counts() {
    const hunks = [...this.hunks.values()].reduce((sum, numbers) => sum + numbers.size, 0);
    return { files: this.whole.size, hunks };
  }
}
