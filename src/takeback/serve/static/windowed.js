// A list of which only what is seen is in the document: ten thousand turns cost as much as thirty.
// Heights are guessed until a row was seen, then measured; what is on the screen stays where it is.

import { el } from "./text.js";

const BEYOND = 400; // pixels above and below that are drawn, too

export class Windowed {
  /** `draw(index)` makes a row, `want(first, last)` is told which ones are looked at. */
  constructor(scroller, { guess, draw, want = () => {}, measured = true, role = "presentation" }) {
    Object.assign(this, { scroller, guess, draw, want, measured });
    this.count = 0;
    this.heights = new Map();
    this.rows = new Map();
    this.tops = null;
    this.space = el("div", { class: "window-space", role });
    scroller.append(this.space);
    scroller.addEventListener("scroll", () => this.soon(), { passive: true });
    new ResizeObserver(() => this.resized()).observe(scroller);
  }

  /** Says how many rows there are; those that are drawn are drawn again. */
  show(count, { keep = false } = {}) {
    this.count = count;
    if (!keep) this.heights.clear();
    this.tops = null;
    this.redraw();
  }

  /** Draws one row again, if it is drawn at all. */
  again(index) {
    const row = this.rows.get(index);
    if (!row) return;
    const made = this.made(index);
    row.replaceWith(made);
    this.rows.set(index, made);
    this.measure();
  }

  /** Draws all rows again; what had the focus has it again. */
  redraw() {
    const focus = this.focused();
    this.clear();
    this.layout();
    if (focus) focus();
  }

  focused() {
    const active = document.activeElement;
    for (const [index, row] of this.rows) {
      if (!row.contains(active)) continue;
      const nth = row === active ? -1 : [...row.querySelectorAll("button")].indexOf(active);
      return () => {
        const again = this.rows.get(index);
        (nth < 0 ? again : again?.querySelectorAll("button")[nth])?.focus({ preventScroll: true });
      };
    }
    return null;
  }

  /** Calls a function with each row that is drawn. */
  each(change) {
    for (const row of this.rows.values()) change(row);
  }

  /** Scrolls so that a row is seen: `start`, `end`, or as little as is needed. */
  reveal(index, where = "nearest") {
    if (index < 0 || index >= this.count) return;
    // Twice: the first look measures what the guess had wrong.
    for (let look = 0; look < 2; look += 1) {
      const top = this.top(index);
      const bottom = this.top(index + 1);
      const { scrollTop, clientHeight } = this.scroller;
      if (where === "start") this.scroller.scrollTop = top - 12;
      else if (where === "end") this.scroller.scrollTop = bottom - clientHeight;
      else if (top < scrollTop) this.scroller.scrollTop = top;
      else if (bottom > scrollTop + clientHeight) this.scroller.scrollTop = bottom - clientHeight;
      this.layout();
    }
  }

  get atEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    return scrollTop + clientHeight >= scrollHeight - 24;
  }

  row(index) {
    return this.rows.get(index) ?? null;
  }

  soon() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.layout();
    });
  }

  resized() {
    if (this.measured && this.width !== this.scroller.clientWidth) {
      this.width = this.scroller.clientWidth;
      this.heights.clear();
      this.tops = null;
    }
    this.soon();
  }

  layout() {
    const { scrollTop, clientHeight } = this.scroller;
    const first = this.at(scrollTop - BEYOND);
    const last = Math.min(this.at(scrollTop + clientHeight + BEYOND), this.count - 1);
    for (const [index, row] of this.rows) {
      // A row that has the focus stays, or the keyboard would fall out of the list.
      if ((index < first || index > last) && !row.contains(document.activeElement)) {
        row.remove();
        this.rows.delete(index);
      }
    }
    for (let index = first; index <= last; index += 1) {
      if (!this.rows.has(index)) this.insert(index);
    }
    this.measure();
    if (last >= first) this.want(first, last);
  }

  // Rows stand in the document in their order, so that Tab and a screen reader meet them in it.
  insert(index) {
    const made = this.made(index);
    const after = [...this.rows.keys()].filter((other) => other > index);
    const next = after.length ? this.rows.get(Math.min(...after)) : null;
    this.space.insertBefore(made, next);
    this.rows.set(index, made);
  }

  made(index) {
    const row = this.draw(index);
    row.classList.add("window-row");
    row.setAttribute("aria-setsize", String(this.count));
    row.setAttribute("aria-posinset", String(index + 1));
    return row;
  }

  measure() {
    if (this.measured) {
      const seen = this.at(this.scroller.scrollTop);
      let above = 0;
      for (const [index, row] of this.rows) {
        const height = row.offsetHeight;
        const before = this.height(index);
        if (height === 0 || height === before) continue;
        this.heights.set(index, height);
        if (index < seen) above += height - before;
        this.tops = null;
      }
      if (above) this.scroller.scrollTop += above;
    }
    this.space.style.height = `${this.top(this.count)}px`;
    for (const [index, row] of this.rows) row.style.transform = `translateY(${this.top(index)}px)`;
  }

  height(index) {
    return this.heights.get(index) ?? this.guess;
  }

  top(index) {
    if (!this.measured) return index * this.guess;
    if (this.tops === null || this.tops.length !== this.count + 1) {
      this.tops = new Float64Array(this.count + 1);
      for (let at = 0; at < this.count; at += 1) this.tops[at + 1] = this.tops[at] + this.height(at);
    }
    return this.tops[Math.min(index, this.count)];
  }

  /** Returns the row at a height, by halving. */
  at(height) {
    let [low, high] = [0, this.count - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.top(middle) <= height) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  clear() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
  }
}
