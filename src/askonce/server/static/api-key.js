/** The API key for servers that require one, kept until the tab is closed. */
import { el, freshId } from "./dom.js";

const NAME = `askonce-key ${location.pathname}`; // each archive of a server has its own keys

/** Headers for every request. @returns {Record<string, string>} */
export function keyHeaders() {
  try {
    const key = sessionStorage.getItem(NAME);
    return key ? { "x-api-key": key } : {};
  } catch {
    return {}; // storage is disabled
  }
}

/** A form for the key; then retry. @param {string} reason @param {() => void} retry */
export function keyForm(reason, retry) {
  const id = freshId();
  const input = /** @type {HTMLInputElement} */ (
    el("input", { id, type: "password", class: "key-box", autocomplete: "off", required: true }));

  /** @param {SubmitEvent} event */
  function save(event) {
    event.preventDefault();
    sessionStorage.setItem(NAME, input.value.trim());
    dispatchEvent(new Event("key-entered")); // what this visitor may do has changed
    retry();
  }
  return el("form", { class: "card key-form", on: { submit: save } },
    el("p", {}, reason),
    el("label", { for: id }, "API key"),
    input,
    el("button", { type: "submit", class: "quiet" }, "Use this key"));
}
