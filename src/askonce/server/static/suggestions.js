/** Similar questions while you type, as a WAI-ARIA combobox. */
import { post } from "./api.js";
import { announce, el, freshId } from "./dom.js";
import { answersFact, likelihoodBadge } from "./facts.js";
import { plural } from "./format.js";
import { marked } from "./words.js";

const DELAY = 120; // milliseconds after the last key
const MIN_LENGTH = 3; // characters
const MAX_SUGGESTIONS = 6;

/** @typedef {import("./api.js").Similar} Similar */

/**
 * @param {HTMLInputElement} box
 * @param {(hit: Similar) => void} choose
 * @returns {{ list: HTMLElement, close: () => void }}
 */
export function suggestions(box, choose) {
  const list = el("ul", { class: "suggestions", role: "listbox", id: freshId(),
    "aria-label": "Suggestions", hidden: true });
  /** @type {Similar[]} */
  let hits = [];
  let active = -1;
  let timer = 0;
  let control = new AbortController();
  for (const [name, value] of Object.entries({
    role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false",
    "aria-controls": list.id, autocomplete: "off",
  })) box.setAttribute(name, value);

  function close() {
    clearTimeout(timer);
    control.abort(); // drop pending requests
    show([]);
  }

  /** @param {Similar[]} similar */
  function show(similar) {
    const chosen = hits[active]?.id; // stays chosen when a later answer replaces the list
    hits = similar;
    list.replaceChildren(...similar.map((hit, n) => option(hit, () => pick(n))));
    list.hidden = !similar.length;
    box.setAttribute("aria-expanded", String(!list.hidden));
    mark(similar.findIndex((hit) => hit.id === chosen));
  }

  /** @param {number} n  the option that Enter chooses; -1 for none */
  function mark(n) {
    list.children[active]?.setAttribute("aria-selected", "false");
    active = n;
    const chosen = list.children[active];
    chosen?.setAttribute("aria-selected", "true");
    chosen?.scrollIntoView({ block: "nearest" });
    if (chosen) box.setAttribute("aria-activedescendant", chosen.id);
    else box.removeAttribute("aria-activedescendant");
  }

  /** @param {number} n */
  function pick(n) {
    const hit = hits[n];
    close();
    choose(hit);
  }

  async function ask() {
    const typed = box.value.trim();
    control.abort();
    control = new AbortController();
    const { signal } = control;
    if (typed.length < MIN_LENGTH) return show([]);
    try {
      const { similar } = await post("duplicates", { title: typed, body: "", k: MAX_SUGGESTIONS }, signal);
      if (signal.aborted) return;
      show(similar);
      announce(similar.length ? plural(similar.length, "similar question") : "");
    } catch {
      if (!signal.aborted) show([]); // no error here: pressing Enter shows it
    }
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    if (list.hidden) return;
    const moves = { ArrowDown: active + 1, ArrowUp: active < 0 ? hits.length - 1 : active - 1 };
    const move = moves[/** @type {keyof typeof moves} */ (event.key)];
    if (move !== undefined) mark(move >= hits.length ? -1 : move);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && active >= 0) pick(active);
    else return;
    event.preventDefault();
  }

  box.addEventListener("input", () => {
    mark(-1);
    clearTimeout(timer);
    timer = setTimeout(ask, DELAY);
  });
  box.addEventListener("keydown", onKey);
  box.addEventListener("blur", close);
  return { list, close };
}

/** @param {Similar} hit @param {() => void} pick */
function option(hit, pick) {
  return el("li", { role: "option", id: freshId(), "aria-selected": "false",
    // keep the focus in the box: losing it closes the list
    on: { mousedown: (event) => event.preventDefault(), click: pick } },
  el("span", { class: "suggestion-title" }, marked(hit.title || hit.excerpt, hit.words)),
  el("span", { class: "suggestion-facts" }, likelihoodBadge(hit.duplicate_probability, 0.5),
    answersFact(hit.answers, hit.accepted)));
}
