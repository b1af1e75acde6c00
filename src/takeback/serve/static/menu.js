// The small control at a message or turn, and the menu that it opens.

import { el } from "./text.js";
import { ACTIONS, act, obstacle } from "./actions.js";

let open = null;

/** Opens the menu of a turn beside an element; arrows, letters, Enter and Esc work in it. */
export function openMenu(beside, turn) {
  closeMenu();
  if (!turn) return;
  const items = ACTIONS.map((action) => item(action, turn));
  const menu = el("div", { class: "menu", role: "menu", "aria-label": "Take back to here" }, items);
  const back = document.activeElement;
  menu.addEventListener("keydown", (event) => onKey(event, menu, turn));
  menu.addEventListener("focusout", (event) => {
    if (!menu.contains(event.relatedTarget)) closeMenu();
  });
  document.body.append(menu);
  open = { menu, back };
  place(menu, beside.getBoundingClientRect());
  menu.querySelector("[role=menuitem]:not([aria-disabled])")?.focus();
}

export function closeMenu({ refocus = false } = {}) {
  const closing = open;
  open = null;
  closing?.menu.remove();
  if (refocus) closing?.back?.focus();
}

function item(action, turn) {
  const why = obstacle(action, turn);
  const choose = () => {
    if (why) return;
    closeMenu({ refocus: true });
    act(action.name, turn);
  };
  return el(
    "div",
    { class: action.group ? "menu-item group" : "menu-item", role: "menuitem", tabindex: "-1",
      "aria-disabled": why ? "true" : null, "data-action": action.name, onclick: choose },
    el("span", { class: "menu-title" }, action.title, why && el("span", { class: "quiet" }, ` (${why})`)),
    el("kbd", {}, action.key),
  );
}

function onKey(event, menu, turn) {
  const items = [...menu.querySelectorAll("[role=menuitem]:not([aria-disabled])")];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
  const named = ACTIONS.find((action) => action.key === event.key);
  event.stopPropagation(); // the page's own keys mean something else
  if (event.key === "Escape") closeMenu({ refocus: true });
  else if (event.key === "Enter" || event.key === " ") document.activeElement.click();
  else if (to !== undefined) items[to % items.length].focus();
  else if (named && !obstacle(named, turn)) {
    closeMenu({ refocus: true });
    act(named.name, turn);
  } else return;
  event.preventDefault();
}

function place(menu, beside) {
  const { offsetWidth, offsetHeight } = menu;
  const left = Math.min(beside.right - offsetWidth, innerWidth - offsetWidth - 8);
  const below = beside.bottom + 4;
  const top = below + offsetHeight > innerHeight - 8 ? innerHeight - offsetHeight - 8 : below;
  menu.style.left = `${Math.max(8, left)}px`;
  menu.style.top = `${Math.max(8, top)}px`;
}
