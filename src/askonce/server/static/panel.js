/** A part of the page that is loaded from the server, with loading and error states. */
import { keyForm } from "./api-key.js";
import { ApiError } from "./api.js";
import { announce, el } from "./dom.js";
import { icon } from "./icons.js";

const WAIT = [
  { after: 200, text: "Loading…" },
  { after: 2000, text: "Still working…" },
  { after: 8000, text: "This is taking longer than usual. The server may be busy or building an index." },
];

/** @type {WeakMap<Element, AbortController>} */
const running = new WeakMap();

/**
 * Load and draw. A later call for the same container cancels an earlier one.
 * @template T
 * @param {HTMLElement} container
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {(value: T) => (Node | string | null | false)[]} draw
 * @returns {Promise<boolean>} whether it was drawn
 */
export async function fill(container, load, draw) {
  running.get(container)?.abort();
  const control = new AbortController();
  running.set(container, control);
  const timers = showWaiting(container);
  container.setAttribute("aria-busy", "true");
  try {
    const value = await load(control.signal);
    if (control.signal.aborted) return false;
    container.replaceChildren(...draw(value).filter((part) => part !== null && part !== false));
    return true;
  } catch (error) {
    if (!control.signal.aborted) container.replaceChildren(failure(error, () => fill(container, load, draw)));
    return false;
  } finally {
    timers.forEach(clearTimeout);
    if (!control.signal.aborted) container.removeAttribute("aria-busy");
  }
}

/** Cancel loading and empty the container. @param {HTMLElement} container */
export function drop(container) {
  running.get(container)?.abort();
  container.removeAttribute("aria-busy");
  container.replaceChildren();
}

/** A line of text instead of content. @param {...(Node | string)} content */
export function notice(...content) {
  return el("p", { class: "notice" }, content);
}

/** @param {HTMLElement} container */
function showWaiting(container) {
  return WAIT.map(({ after, text }) =>
    setTimeout(() => {
      if (!container.querySelector(".waiting")) container.prepend(el("p", { class: "notice waiting" }));
      const line = container.querySelector(".waiting");
      if (line) line.textContent = text;
      announce(text);
    }, after));
}

/** Whether trying again cannot help, such as for a post that does not exist. @param {unknown} error */
const lasting = (error) => error instanceof ApiError && [403, 404, 422].includes(error.status);

/** @param {unknown} error @param {() => void} retry */
function failure(error, retry) {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof ApiError && error.status === 401) return keyForm(text, retry);
  return el("div", { class: "notice failure", role: "alert" },
    icon("warning"),
    el("span", {}, text),
    lasting(error) ? null : el("button", { type: "button", class: "quiet", on: { click: retry } }, "Try again"));
}
