/** A text box for a question, with a submit button. */
import { el, freshId } from "./dom.js";
import { icon } from "./icons.js";

/**
 * @param {string} label
 * @param {string} placeholder
 * @param {string} verb  on the button
 * @param {(question: string) => void} submit
 * @returns {{ form: HTMLElement, box: HTMLInputElement, field: HTMLElement }}
 */
export function questionBox(label, placeholder, verb, submit) {
  const id = freshId();
  const box = /** @type {HTMLInputElement} */ (el("input", {
    id, class: "box", type: "text", name: "q", placeholder, maxlength: 2000, spellcheck: "true",
    enterkeyhint: "search",
  }));
  const field = el("div", { class: "field" }, icon("search"), box);
  const form = el("form", { class: "question-form", role: "search", on: { submit: onSubmit } },
    el("label", { for: id, class: "unseen" }, label),
    field,
    el("button", { type: "submit", class: "primary" }, verb));

  /** @param {SubmitEvent} event */
  function onSubmit(event) {
    event.preventDefault();
    const question = box.value.trim();
    if (question) submit(question);
    else box.focus();
  }
  return { form, box, field };
}

/**
 * Pressing "/" anywhere on the page focuses the box.
 * @param {HTMLInputElement} box @param {AbortSignal} signal
 */
export function slashFocuses(box, signal) {
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    box.focus();
    box.select();
  }, { signal });
}
