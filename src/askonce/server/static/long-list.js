/** A list that shows its first items, and the rest when asked. */
import { el } from "./dom.js";

const SHOWN = 6;

/** @param {Node[]} items */
export function longList(items) {
  const rows = items.map((item) => el("li", {}, item));
  const list = el("ul", { class: "hits" }, rows.slice(0, SHOWN));
  if (rows.length <= SHOWN) return list;
  const more = el("button", { type: "button", class: "more", on: { click: showAll } },
    `Show all ${rows.length}`);

  function showAll() {
    list.append(...rows.slice(SHOWN));
    more.remove();
    rows[SHOWN].querySelector("a")?.focus();
  }
  return el("div", {}, list, more);
}
