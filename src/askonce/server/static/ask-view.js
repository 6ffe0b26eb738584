/** Ask a question: similar questions and their answers. */
import { get } from "./api.js";
import { announce, el } from "./dom.js";
import { likelihood, percent, plural } from "./format.js";
import { answerHit, questionHit } from "./hits.js";
import { icon } from "./icons.js";
import { drop, fill, notice } from "./panel.js";
import { questionBox, slashFocuses } from "./question-box.js";
import { rankerChoice } from "./rankers.js";
import { address, currentRoute, go } from "./route.js";
import { onStatus } from "./status.js";
import { suggestions } from "./suggestions.js";
import { loadThread, wholeThread } from "./thread.js";

const FEW = 10;
const MANY = 30;

/** @typedef {import("./route.js").Route} Route */
/** @typedef {{ query: string, took_ms: number, similar: import("./api.js").Similar[],
 *   answers: import("./api.js").Answer[] }} Asked */

/**
 * @param {HTMLElement} root
 * @param {AbortSignal} signal  aborts when the view is closed
 * @returns {(route: Route) => void}
 */
export function askView(root, signal) {
  const results = el("div", { class: "results" });
  const { form, box, field } = questionBox("Your question", "How do I …", "Ask",
    (q) => { suggested.close(); go({ ...options(), q }); });
  const suggested = suggestions(box, (hit) => go({ ...options(), q: box.value.trim(), post: hit.id }));
  field.append(suggested.list);
  slashFocuses(box, signal);
  const ranker = rankerChoice("Rank by", (name) => go({ ...currentRoute(), ranker: name }));
  const votes = votesChoice();
  const choices = el("div", { class: "choices" }, ranker.part, votes.part);
  const greeting = welcome(signal);
  root.append(el("div", { class: "ask" }, greeting, form, choices), results);

  function options() {
    const { ranker: name, votes: preferVotes } = currentRoute();
    return { ranker: name, votes: preferVotes };
  }

  return (route) => {
    root.classList.toggle("home", !route.q && !route.post);
    greeting.hidden = route.post !== null; // the question is the page heading
    choices.hidden = !route.q || route.post !== null;
    suggested.close();
    if (document.activeElement !== box || box.value.trim() !== route.q) box.value = route.q;
    ranker.show(route.ranker);
    votes.show(route.votes);
    document.title = route.q ? `${route.q} – Askonce` : "Askonce";
    if (route.post) showPost(results, route.post, route);
    else if (route.q) showResults(results, route, FEW);
    else { drop(results); box.focus(); }
  };
}

/** @param {AbortSignal} signal */
function welcome(signal) {
  const size = el("p", { class: "lead" }, "Ask in your own words.");
  onStatus((status) => {
    size.textContent = `Searching ${plural(status.posts, "post")} in ${status.archive}`;
  }, signal);
  return el("div", { class: "welcome" }, el("h1", {}, "Has it been asked before?"), size);
}

/** @returns {{ part: HTMLElement, show: (on: boolean) => void }} */
function votesChoice() {
  const input = /** @type {HTMLInputElement} */ (el("input", { type: "checkbox",
    on: { change: () => go({ ...currentRoute(), votes: input.checked }) } }));
  return {
    part: el("label", { class: "choice" }, input, "Prefer upvoted answers"),
    show: (on) => { input.checked = on; },
  };
}

/** @param {HTMLElement} container @param {Route} route @param {number} k */
function showResults(container, { q, ranker, votes, view }, k) {
  const load = (/** @type {AbortSignal} */ signal) => get("ask", { q, k, ranker, votes }, signal);
  return fill(container, load, (/** @type {Asked} */ asked) => {
    const { similar, answers } = asked;
    announce(`${plural(similar.length, "similar question")} and ${plural(answers.length, "answer")} found.`);
    if (!similar.length && !answers.length) return [nothing()];
    const more = Math.max(similar.length, answers.length) >= k && k < MANY;
    return [
      verdict(asked),
      answers.length > 0 && el("button", { type: "button", class: "more jump", on: { click: jump } },
        `Jump to ${plural(answers.length, "answer")}`, icon("down")),
      el("div", { class: "columns" },
        column("Similar questions", similar, (hit) => questionHit(hit, q), "No similar questions found."),
        column("Answers", answers, (hit) => answerHit(hit, q), "No answers found.")),
      more && el("p", { class: "centred" }, el("button", { type: "button", class: "quiet",
        on: { click: () => showResults(container, { q, ranker, votes, view }, MANY) } }, "Show more")),
    ];
  });
}

/**
 * @template T
 * @param {string} title
 * @param {T[]} hits
 * @param {(hit: T) => HTMLElement} draw
 * @param {string} none
 */
function column(title, hits, draw, none) {
  return el("section", { class: "column", "aria-label": title },
    el("h2", { tabindex: -1 }, title, hits.length > 0 && el("span", { class: "tally" }, hits.length)),
    hits.length ? el("ol", { class: "hits" }, hits.map((hit) => el("li", {}, draw(hit)))) : notice(none));
}

/** One line: has it been asked before? @param {Asked} asked */
function verdict({ similar, took_ms: took }) {
  const calibrated = similar.flatMap((hit) => hit.duplicate_probability ?? []);
  const same = calibrated.filter((probability) => probability >= 0.5).length;
  const { level, text } = calibrated.length
    ? verdictText(Math.max(...calibrated), same) : uncalibrated(similar);
  return el("p", { class: `verdict verdict-${level}` }, el("span", {}, text),
    el("span", { class: "took" }, `${took < 10 ? took.toFixed(1) : Math.round(took)} ms`));
}

/** Without a calibrated model. @param {import("./api.js").Similar[]} similar */
function uncalibrated(similar) {
  const text = similar.some(({ stages }) => "vectors" in stages || "pair" in stages)
    ? "Ranked by words and meaning. To see how likely a question is the same, train on marked duplicates."
    : "Ranked by shared words. To see how likely a question is the same, train a model.";
  return { level: "unknown", text };
}

/** @param {number} best @param {number} same */
function verdictText(best, same) {
  if (same) {
    const text = `Already asked: ${plural(same, "question")} ${same === 1 ? "is" : "are"} likely the same `
      + `(best match ${percent(best)}).`;
    return { level: "high", text };
  }
  const closest = likelihood(best).words.toLowerCase();
  return { level: "low", text: `Looks new. The best match is ${closest} (${percent(best)}).` };
}

/** On narrow screens the answers are below the questions. */
function jump() {
  const heading = /** @type {HTMLElement | null} */ (document.querySelector(".column:last-child > h2"));
  heading?.focus();
  heading?.scrollIntoView();
}

function nothing() {
  return el("div", { class: "nothing" },
    el("h2", {}, "Nothing found"),
    el("p", {}, "No post in this archive matches your question. Try other words, or fewer."));
}

/** @param {HTMLElement} container @param {string} id @param {Route} route */
function showPost(container, id, route) {
  const back = route.q
    ? el("a", { class: "back", href: address({ ...route, post: null }), "data-route": true },
      "← All results for “", route.q, "”")
    : null;
  return fill(container, (signal) => loadPost(id, signal), (thread) => {
    if (!route.q) document.title = `${thread.post.title} – Askonce`;
    announce(`${thread.post.title}. ${plural(thread.answers.length, "answer")}.`);
    return [back, wholeThread(thread, 1)];
  });
}

/** For an answer, load its question. @param {string} id @param {AbortSignal} signal */
async function loadPost(id, signal) {
  const thread = await loadThread(id, signal);
  return thread.post.parent ? loadThread(thread.post.parent, signal) : thread;
}
