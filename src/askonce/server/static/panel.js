/** A part of the page that is fetched: it says when it loads, is slow, has failed or is empty. */
import { keyForm } from "./api-key.js";
import { ApiError } from "./api.js";
import { announce, el } from "./dom.js";
import { icon } from "./icons.js";

const WAIT = [
  { after: 200, text: "Loading…" },
  { after: 2000, text: "Still working…" },
  { after: 8000, text: "This takes longer than usual. The server may be busy or building an index." },
];

/** @type {WeakMap<Element, AbortController>} */
const running = new WeakMap();

/**
 * Fetch and draw. A later call for the same place drops an earlier one that has not come back.
 * @template T
 * @param {HTMLElement} place
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {(value: T) => (Node | string | null | false)[]} draw
 * @returns {Promise<boolean>} whether it was drawn
 */
export async function fill(place, load, draw) {
  running.get(place)?.abort();
  const control = new AbortController();
  running.set(place, control);
  const timers = tellOfWaiting(place);
  place.setAttribute("aria-busy", "true");
  try {
    const value = await load(control.signal);
    if (control.signal.aborted) return false;
    place.replaceChildren(...draw(value).filter((part) => part !== null && part !== false));
    return true;
  } catch (error) {
    if (!control.signal.aborted) place.replaceChildren(failure(error, () => fill(place, load, draw)));
    return false;
  } finally {
    timers.forEach(clearTimeout);
    if (!control.signal.aborted) place.removeAttribute("aria-busy");
  }
}

/** Forget what a place is waiting for. @param {HTMLElement} place */
export function drop(place) {
  running.get(place)?.abort();
  place.removeAttribute("aria-busy");
  place.replaceChildren();
}

/** One calm line in place of content. @param {...(Node | string)} content */
export function notice(...content) {
  return el("p", { class: "notice" }, content);
}

/** @param {HTMLElement} place */
function tellOfWaiting(place) {
  return WAIT.map(({ after, text }) =>
    setTimeout(() => {
      if (!place.querySelector(".waiting")) place.prepend(el("p", { class: "notice waiting" }));
      const line = place.querySelector(".waiting");
      if (line) line.textContent = text;
      announce(text);
    }, after));
}

/** @param {unknown} error @param {() => void} again */
function failure(error, again) {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof ApiError && error.status === 401) return keyForm(text, again);
  return el("div", { class: "notice failure", role: "alert" },
    icon("warning"),
    el("span", {}, text),
    el("button", { type: "button", class: "quiet", on: { click: again } }, "Try again"));
}
