// The only module that makes nodes from words. Prompts, file names, labels and diffs may hold
// anything: here they become text nodes, never markup, and what would hide or turn text around
// becomes visible, as in takeback/visible.py.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
const JOINER = "\u200d";
const SYMBOLS = "\u2190";

const TAGS = new Set(
  ("article aside button code col colgroup dd del div dl dt em fieldset footer form h1 h2 h3 header input ins " +
    "kbd label legend li main nav ol option p pre section select span strong table tbody td th " +
    "thead time tr ul dialog").split(" "),
);
// What an attribute may be called; none of them loads, runs or submits anything.
const ATTRIBUTES = new Set(
  ("autocomplete checked class colspan datetime disabled for hidden id maxlength name placeholder " +
    "role rows scope selected spellcheck tabindex title type value").split(" "),
);
const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "path", "circle", "line"]);

/** Returns text with control and bidi characters as \xNN; with `lines`, line ends and tabs stay. */
export function visible(text, { lines = false } = {}) {
  return String(text).replace(HIDDEN, (found, at, whole) => {
    if (lines && (found === "\n" || found === "\t")) return found;
    // A joiner between two symbols makes one of them, as in the emoji of a family.
    const [before, after] = [whole[at - 1] ?? "", whole[at + 1] ?? ""];
    if (found === JOINER && before >= SYMBOLS && after >= SYMBOLS) return found;
    const code = found.codePointAt(0);
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** Makes an element; strings among the children become text nodes on one line. */
export function el(tag, attributes = {}, ...children) {
  if (!TAGS.has(tag)) throw new TypeError(`no element ${tag} is made here`);
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(made, name, value);
  made.append(...nodes(children));
  return made;
}

/** Replaces all that is inside an element. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/** Returns a text node that keeps its lines. */
export function lines(text) {
  return document.createTextNode(visible(text, { lines: true }));
}

/** Makes an element of a drawing; its attributes are numbers, paths and class names of ours. */
export function drawn(tag, attributes = {}, ...children) {
  if (!DRAWN.has(tag)) throw new TypeError(`no element ${tag} is drawn here`);
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children.flat().filter(Boolean));
  return made;
}

function setAttribute(made, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (typeof value === "function") {
    made.addEventListener(name.replace(/^on/, ""), value);
  } else if (ATTRIBUTES.has(name) || /^(aria|data)-[a-z]+$/.test(name)) {
    made.setAttribute(name, value === true ? "" : visible(value));
  } else {
    throw new TypeError(`no attribute ${name} is set here`);
  }
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(visible(child))));
}
