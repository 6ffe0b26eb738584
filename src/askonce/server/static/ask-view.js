/** Ask a question: the questions already asked, and the answers already given. */
import { get } from "./api.js";
import { announce, el } from "./dom.js";
import { count, likelihood, percent, plural } from "./format.js";
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
 * @param {AbortSignal} signal  of the view's end
 * @returns {(route: Route) => void}
 */
export function askView(root, signal) {
  const results = el("div", { class: "results" });
  const { form, box, field } = questionBox("Your question", "How do I …", "Ask",
    (q) => { suggested.close(); go({ ...options(), q }); });
  const suggested = suggestions(box, (hit) => go({ ...options(), q: box.value.trim(), post: hit.id }));
  field.append(suggested.list);
  slashFocuses(box, signal);
  const ranker = rankerChoice("Ranked by", (name) => go({ ...currentRoute(), ranker: name }));
  const votes = votesChoice();
  const choices = el("div", { class: "choices" }, ranker.part, votes.part);
  const greeting = welcome(signal);
  root.append(el("div", { class: "ask" }, greeting, form, choices), results);

  function options() {
    const { ranker: name, votes: weighed } = currentRoute();
    return { ranker: name, votes: weighed };
  }

  return (route) => {
    root.classList.toggle("home", !route.q && !route.post);
    greeting.hidden = route.post !== null; // then the question is the page's heading
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
  const size = el("p", { class: "lead" }, "Type it as you would ask a colleague.");
  onStatus((status) => {
    size.textContent = `Type it as you would ask a colleague. ${count(status.posts)} posts of `
      + `${status.archive} are searched.`;
  }, signal);
  return el("div", { class: "welcome" }, el("h1", {}, "Has it been asked before?"), size);
}

/** @returns {{ part: HTMLElement, show: (on: boolean) => void }} */
function votesChoice() {
  const input = /** @type {HTMLInputElement} */ (el("input", { type: "checkbox",
    on: { change: () => go({ ...currentRoute(), votes: input.checked }) } }));
  return {
    part: el("label", { class: "choice" }, input, "Weigh votes in"),
    show: (on) => { input.checked = on; },
  };
}

/** @param {HTMLElement} place @param {Route} route @param {number} k */
function showResults(place, { q, ranker, votes, view }, k) {
  const load = (/** @type {AbortSignal} */ signal) => get("ask", { q, k, ranker, votes }, signal);
  return fill(place, load, (/** @type {Asked} */ asked) => {
    const { similar, answers } = asked;
    announce(`${plural(similar.length, "similar question")} and ${plural(answers.length, "answer")} found.`);
    if (!similar.length && !answers.length) return [nothing()];
    const more = Math.max(similar.length, answers.length) >= k && k < MANY;
    return [
      verdict(asked),
      answers.length > 0 && el("button", { type: "button", class: "more jump", on: { click: jump } },
        `Go to the ${plural(answers.length, "answer")}`, icon("down")),
      el("div", { class: "columns" },
        column("Already asked", similar, (hit) => questionHit(hit, q),
          "No question shares a word with yours."),
        column("Answers given", answers, (hit) => answerHit(hit, q),
          "No answer shares a word with your question.")),
      more && el("p", { class: "centred" }, el("button", { type: "button", class: "quiet",
        on: { click: () => showResults(place, { q, ranker, votes, view }, MANY) } }, "Show more")),
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

/** The short answer to "has it been asked?". @param {Asked} asked */
function verdict({ similar, took_ms: took }) {
  const known = similar.filter((hit) => hit.duplicate_probability !== null);
  const best = known.reduce((most, hit) => Math.max(most, hit.duplicate_probability ?? 0), 0);
  const same = known.filter((hit) => (hit.duplicate_probability ?? 0) >= 0.5).length;
  const { level, text } = known.length ? verdictText(best, same) : unjudged(similar);
  return el("p", { class: `verdict verdict-${level}` }, el("span", {}, text),
    el("span", { class: "took" }, `${took < 10 ? took.toFixed(1) : Math.round(took)} ms`));
}

/** Without a calibrated model. @param {import("./api.js").Similar[]} similar */
function unjudged(similar) {
  const text = similar.some(({ stages }) => "vectors" in stages || "pair" in stages)
    ? "Ranked by words and meaning. With marked duplicates to learn from, a model also tells how "
      + "likely a question is the same."
    : "Ranked by shared words. A trained model also tells how likely a question is the same.";
  return { level: "unknown", text };
}

/** @param {number} best @param {number} same */
function verdictText(best, same) {
  if (same) {
    const many = same === 1 ? "One question is" : `${same} questions are`;
    return { level: "high", text: `Asked before. ${many} likely the same, the closest at ${percent(best)}.` };
  }
  const closest = likelihood(best).words.toLowerCase();
  return { level: "low", text: `Looks new. The closest question is ${closest} (${percent(best)}).` };
}

/** On narrow screens the answers come below the questions. */
function jump() {
  const heading = /** @type {HTMLElement | null} */ (document.querySelector(".column:last-child > h2"));
  heading?.focus();
  heading?.scrollIntoView();
}

function nothing() {
  return el("div", { class: "nothing" },
    el("h2", {}, "Nothing found"),
    el("p", {}, "No question and no answer of this archive has anything in common with yours. "
      + "Try other words, or fewer of them."));
}

/** @param {HTMLElement} place @param {string} id @param {Route} route */
function showPost(place, id, route) {
  const back = route.q
    ? el("a", { class: "back", href: address({ ...route, post: null }), "data-route": true },
      "← All results for “", route.q, "”")
    : null;
  return fill(place, (signal) => loadPost(id, signal), (thread) => {
    if (!route.q) document.title = `${thread.post.title} – Askonce`;
    announce(`${thread.post.title}. ${plural(thread.answers.length, "answer")}.`);
    return [back, wholeThread(thread, 1)];
  });
}

/** An answer's address shows its question. @param {string} id @param {AbortSignal} signal */
async function loadPost(id, signal) {
  const thread = await loadThread(id, signal);
  return thread.post.parent ? loadThread(thread.post.parent, signal) : thread;
}
