/** The results of a question: a verdict, similar questions, answers by thread, pages. */
import { askAnyway } from "./ask-anyway.js";
import { el } from "./dom.js";
import { percent, plural } from "./format.js";
import { answerThread, questionHit } from "./hits.js";
import { icon } from "./icons.js";
import { notice } from "./panel.js";
import { address } from "./route.js";

export const PAGE = 10; // results of each kind
const LIKELY = 0.5; // from which probability on a badge says "likely the same"

/**
 * @typedef {import("./api.js").Similar} Similar
 * @typedef {import("./api.js").Answer} Answer
 * @typedef {{ query: string, took_ms: number, similar: Similar[], answers: Answer[] }} Asked
 * @typedef {import("./route.js").Route} Route
 */

/** @param {Asked} asked @param {Route} route @param {(parts: Node[]) => void} redraw */
export function resultParts(asked, route, redraw) {
  const { similar, answers } = asked;
  const first = route.page === 1;
  if (!similar.length && !answers.length) return [first ? nothing(route) : notice("No more results."), pages(asked, route)];
  const remote = first && isCalibrated(similar) && similar.every((hit) => !hit.claimed && !hit.close);
  if (!remote) return foundParts(asked, route);
  const anyway = el("button", { type: "button", class: "quiet", on: { click: () => redraw(foundParts(asked, route)) } },
    "Show the closest results");
  return [nothing(route, anyway)];
}

/** @param {Asked} asked @param {Route} route */
function foundParts(asked, route) {
  const { similar, answers } = asked;
  const threads = byThread(answers);
  const unclaimed = !similar.some(({ claimed }) => claimed);
  return [
    verdict(asked),
    answers.length > 0 && el("button", { type: "button", class: "more jump", on: { click: jump } },
      `Jump to ${plural(answers.length, "answer")}`, icon("down")),
    el("div", { class: "columns" },
      column("Similar questions", similar.length, similar.map((hit) => questionHit(hit, route.q)), "No similar questions found."),
      column("Answers", answers.length, threads.map((thread) => answerThread(thread, route.q)), "No answers found.")),
    pages(asked, route),
    askAnyway(route.q, unclaimed ? "Ask it as a new question" : "None of these? Ask a new question"),
  ].filter((part) => part instanceof Node);
}

/** Answers of one thread together, in the order of the first of each. @param {Answer[]} answers */
function byThread(answers) {
  /** @type {Map<string, Answer[]>} */
  const threads = new Map();
  for (const answer of answers) {
    const thread = threads.get(answer.thread);
    if (thread) thread.push(answer);
    else threads.set(answer.thread, [answer]);
  }
  return [...threads.values()];
}

/** @param {Similar[]} similar */
const isCalibrated = (similar) => similar.some((hit) => hit.duplicate_probability !== null);

/** @param {string} title @param {number} count @param {Node[]} items @param {string} none */
function column(title, count, items, none) {
  return el("section", { class: "column", "aria-label": title },
    el("h2", { tabindex: -1 }, title, count > 0 && el("span", { class: "tally" }, count)),
    items.length ? el("ol", { class: "hits" }, items.map((item) => el("li", {}, item))) : notice(none));
}

/** One line: has it been asked before? @param {Asked} asked */
function verdict({ similar, took_ms: took }) {
  const { level, text } = isCalibrated(similar) ? verdictText(similar) : uncalibrated(similar);
  return el("p", { class: `verdict verdict-${level}` }, el("span", {}, text),
    el("span", { class: "took" }, `${took < 10 ? took.toFixed(1) : Math.round(took)} ms`));
}

/** Without a calibrated model. @param {Similar[]} similar */
function uncalibrated(similar) {
  const text = similar.some(({ stages }) => "vectors" in stages || "pair" in stages)
    ? "Ranked by words and meaning. To see how likely a question is the same, train on marked duplicates."
    : "Ranked by shared words. To see how likely a question is the same, train a model.";
  return { level: "unknown", text };
}

/** @param {Similar[]} similar */
function verdictText(similar) {
  const same = similar.filter(({ claimed }) => claimed);
  if (!same.length) return { level: "low", text: unclaimedText(similar) };
  const best = bestMatch(same);
  const pinned = same.filter((hit) => hit.pinned).length;
  const likely = same.filter((hit) => !hit.pinned && (hit.duplicate_probability ?? 0) >= LIKELY).length;
  const possible = same.length - pinned - likely;
  const parts = [
    likely && `${plural(likely, "question")} ${likely === 1 ? "is" : "are"} likely the same`,
    possible && `${plural(possible, "question")} may be the same`,
    pinned && `${plural(pinned, "question")} ${pinned === 1 ? "is" : "are"} pinned to it`,
  ].filter(Boolean);
  const match = likely + possible ? ` (best match ${percent(best)})` : "";
  return { level: "high", text: `Already asked: ${parts.join(", ")}${match}.` };
}

/** @param {Similar[]} similar */
function unclaimedText(similar) {
  const close = similar.filter((hit) => hit.close);
  if (!close.length) return "Nothing close was asked before. These are the closest questions.";
  return `Not clearly asked before: ${plural(close.length, "question")} ${close.length === 1 ? "comes" : "come"} close (best match ${percent(bestMatch(close))}).`;
}

/** @param {Similar[]} hits */
const bestMatch = (hits) => Math.max(...hits.map((hit) => hit.duplicate_probability ?? 0));

/** Links to the page before and after. @param {Asked} asked @param {Route} route */
function pages({ similar, answers }, route) {
  const more = Math.max(similar.length, answers.length) >= PAGE;
  if (!more && route.page === 1) return null;
  /** @param {number} page @param {string} text */
  const link = (page, text) => el("a", { class: "quiet page-link", href: address({ ...route, page }), "data-route": true }, text);
  return el("nav", { class: "pages", "aria-label": "Pages of results" },
    route.page > 1 && link(route.page - 1, "Previous"),
    el("span", { class: "small" }, `Page ${route.page}`),
    more && link(route.page + 1, "Next"));
}

/** On narrow screens the answers are below the questions. */
function jump() {
  const heading = /** @type {HTMLElement | null} */ (document.querySelector(".column:last-child > h2"));
  heading?.focus();
  heading?.scrollIntoView();
}

/** @param {Route} route @param {Node} [more] */
function nothing(route, more) {
  const filtered = route.tag || route.after || route.before || route.answered;
  return el("div", { class: "nothing" },
    el("h2", {}, filtered ? "No result passes the filters" : "Nothing close was asked before"),
    el("p", {}, filtered ? "Clear the filters, or try other words." : "Try other words."),
    more && el("p", {}, more),
    askAnyway(route.q, "Ask it as a new question", true));
}
