/** The key of a server that wants one from its readers; forgotten when the tab is closed. */
import { el, freshId } from "./dom.js";

const NAME = "askonce-key";

/** What goes with every request. @returns {Record<string, string>} */
export function keyHeaders() {
  try {
    const key = sessionStorage.getItem(NAME);
    return key ? { "x-api-key": key } : {};
  } catch {
    return {}; // storage is switched off
  }
}

/** Ask for the key, then try again. @param {string} reason @param {() => void} again */
export function keyForm(reason, again) {
  const id = freshId();
  const input = /** @type {HTMLInputElement} */ (
    el("input", { id, type: "password", class: "key-box", autocomplete: "off", required: true }));

  /** @param {SubmitEvent} event */
  function keep(event) {
    event.preventDefault();
    sessionStorage.setItem(NAME, input.value.trim());
    again();
  }
  return el("form", { class: "card key-form", on: { submit: keep } },
    el("p", {}, reason),
    el("label", { for: id }, "API key"),
    input,
    el("button", { type: "submit", class: "quiet" }, "Use this key"));
}
