/** Buttons by which a visitor says whether a hit was right; the marks teach the next model. */
import { post } from "./api.js";
import { announce, el } from "./dom.js";
import { icon } from "./icons.js";
import { pageOptions } from "./page-options.js";

/**
 * @typedef {"answered" | "same" | "different"} Mark
 * @typedef {Mark | "click" | "none"} AnyMark
 */

const TEXTS = {
  answered: "This answered it",
  same: "Same question",
  different: "Not a duplicate",
};
const NAME = "askonce-visitor";

/** A random token that tells visitors apart and says nothing about them. */
let token = "";
function visitor() {
  try {
    token = localStorage.getItem(NAME) || token;
    if (!token) localStorage.setItem(NAME, token = randomToken());
  } catch {
    token ||= randomToken(); // storage is disabled: it lasts until the page is closed
  }
  return token;
}

function randomToken() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");
}

/** @param {string} question @param {string} id @param {AnyMark} mark */
const send = (question, id, mark) => post("feedback", { question, id, mark, visitor: visitor() });

/** What this visitor has marked since the page was opened. @type {Map<string, Mark>} */
const given = new Map();

/**
 * Buttons of which at most one is pressed; pressing it again takes the mark back.
 * @param {string} question @param {string} id  of the hit @param {Mark[]} marks
 */
export function feedbackButtons(question, id, marks) {
  const key = `${id}\n${question}`;
  const problem = el("span", { class: "small bad", role: "status" });
  const buttons = marks.map((mark) => el("button", {
    type: "button", class: `action feedback feedback-${mark}`, "data-mark": mark, on: { click: () => press(mark) },
  }, icon(mark === "different" ? "cross" : "accepted"), TEXTS[mark]));
  const show = () => buttons.forEach((button) =>
    button.setAttribute("aria-pressed", String(given.get(key) === button.dataset.mark)));

  /** @param {Mark} mark */
  async function press(mark) {
    const before = given.get(key);
    const back = before === mark;
    if (back) given.delete(key);
    else given.set(key, mark);
    show();
    try {
      await send(question, id, back ? "none" : mark);
      problem.textContent = "";
      announce(back ? "Feedback removed." : "Thank you. The next model learns from it.");
    } catch (error) {
      if (before) given.set(key, before);
      else given.delete(key);
      show();
      problem.textContent = error instanceof Error ? error.message : String(error);
    }
  }
  show();
  return el("span", { class: "feedback-group", role: "group", "aria-label": "Feedback" }, buttons, problem);
}

/** Report that a hit was opened, where the server records clicks. @param {string} question @param {string} id */
export async function opened(question, id) {
  if (!(await pageOptions()).clicks) return;
  send(question, id, "click").catch(() => {}); // nobody waits for it
}
