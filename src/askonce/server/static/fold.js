/** Content that expands: on first opening, in part, or item by item. */
import { el, freshId } from "./dom.js";

const LONG_TEXT = 600; // characters
const LIST_ITEMS = 6;

/**
 * Content that is filled when it is first opened.
 * @param {(Node | string)[]} label  of the button
 * @param {string} name  the class of button and content
 * @param {(container: HTMLElement) => void} open  fills the content, once
 * @param {() => void} [opened]  called then, too
 * @returns {{ button: HTMLElement, content: HTMLElement }}
 */
export function fold(label, name, open, opened = () => {}) {
  const id = freshId();
  const content = el("div", { class: `${name}-content`, id, hidden: true });
  const button = el("button", {
    type: "button", class: `${name}-button`, "aria-expanded": "false", "aria-controls": id,
    on: { click: toggle },
  }, label);

  function toggle() {
    content.hidden = !content.hidden;
    button.setAttribute("aria-expanded", String(!content.hidden));
    if (content.hidden || content.hasChildNodes()) return;
    open(content);
    opened();
  }
  return { button, content };
}

/** Long text, shortened with a button for the rest. @param {HTMLElement} body @param {number} length */
export function shortened(body, length) {
  if (length <= LONG_TEXT) return body;
  body.classList.add("cut");
  body.id = freshId();
  const more = el("button", {
    type: "button", class: "more", "aria-expanded": "false", "aria-controls": body.id,
    on: { click: toggle },
  }, "Show all");

  function toggle() {
    const cut = body.classList.toggle("cut");
    more.setAttribute("aria-expanded", String(!cut));
    more.textContent = cut ? "Show all" : "Show less";
  }
  return el("div", {}, body, more);
}

/** A list of the first items, with a button for the rest. @param {Node[]} items */
export function longList(items) {
  const rows = items.map((item) => el("li", {}, item));
  const list = el("ul", { class: "hits" }, rows.slice(0, LIST_ITEMS));
  if (rows.length <= LIST_ITEMS) return list;
  const more = el("button", { type: "button", class: "more", on: { click: showAll } },
    `Show all ${rows.length}`);

  function showAll() {
    list.append(...rows.slice(LIST_ITEMS));
    more.remove();
    rows[LIST_ITEMS].querySelector("a")?.focus();
  }
  return el("div", {}, list, more);
}
