/** Ask a question: similar questions and their answers. */
import { get } from "./api.js";
import { announce, el } from "./dom.js";
import { filterChoice } from "./filters.js";
import { plural } from "./format.js";
import { pageOptions } from "./page-options.js";
import { drop, fill } from "./panel.js";
import { questionBox, slashFocuses } from "./question-box.js";
import { rankerChoice } from "./rankers.js";
import { PAGE, resultParts } from "./results.js";
import { address, currentRoute, go, restorePosition } from "./route.js";
import { onStatus } from "./status.js";
import { suggestions } from "./suggestions.js";
import { loadThread, wholeThread } from "./thread.js";

/** @typedef {import("./route.js").Route} Route */

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
  const ranker = rankerChoice("Rank by", (name) => go({ ...currentRoute(), ranker: name, page: 1 }));
  const votes = votesChoice();
  const filters = filterChoice();
  const choices = el("div", { class: "choices" }, ranker.part, votes.part, filters.part);
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
    filters.show(route);
    document.title = route.q ? `${route.q} – Askonce` : "Askonce";
    if (route.post) showPost(results, route.post, route);
    else if (route.q) showResults(results, route).then(restorePosition);
    else { drop(results); results.append(exampleQuestions()); box.focus(); }
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

/** Questions of the archive to start with. */
function exampleQuestions() {
  const container = el("section", { class: "examples", "aria-label": "Examples", hidden: true });
  pageOptions().then(({ examples }) => {
    if (!examples.length) return;
    container.append(el("h2", {}, "For example"), el("ul", {}, examples.map(({ title }) =>
      el("li", {}, el("a", { href: address({ q: title }), "data-route": true }, title)))));
    container.hidden = false;
  });
  return container;
}

/** @returns {{ part: HTMLElement, show: (on: boolean) => void }} */
function votesChoice() {
  const input = /** @type {HTMLInputElement} */ (el("input", { type: "checkbox",
    on: { change: () => go({ ...currentRoute(), votes: input.checked, page: 1 }) } }));
  return {
    part: el("label", { class: "choice" }, input, "Prefer upvoted answers"),
    show: (on) => { input.checked = on; },
  };
}

/** @param {HTMLElement} container @param {Route} route */
function showResults(container, route) {
  const { q, ranker, votes, tag, after, before, answered, sort, page } = route;
  const params = { q, k: PAGE, ranker, votes, sort, offset: (page - 1) * PAGE,
    tag: tag || null, after: after || null, before: before || null, answered: answered || null };
  return fill(container, (signal) => get("ask", params, signal), (/** @type {import("./results.js").Asked} */ asked) => {
    const { similar, answers } = asked;
    announce(`${plural(similar.length, "similar question")} and ${plural(answers.length, "answer")} found.`);
    return resultParts(asked, route, (parts) => container.replaceChildren(...parts));
  });
}

/** @param {HTMLElement} container @param {string} id @param {Route} route */
function showPost(container, id, route) {
  const back = route.q
    ? el("a", { class: "back", href: address({ ...route, post: null }), "data-route": true, on: { click: goBack } },
      "← All results for “", route.q, "”")
    : null;
  document.title = "Post – Askonce"; // until it is loaded
  const heading = () => /** @type {HTMLElement | null} */ (container.querySelector(".thread-title"));
  return fill(container, (signal) => loadPost(id, signal), (thread) => {
    document.title = `${thread.post.title || "Untitled question"} – Askonce`;
    scrollTo(0, 0);
    announce(`${thread.post.title}. ${plural(thread.answers.length, "answer")}.`);
    return [back, wholeThread(thread, 1)];
  }).then((drawn) => {
    if (drawn) heading()?.focus({ preventScroll: true });
    else if (back && !container.hasAttribute("aria-busy")) container.prepend(back);
  });
}

/** To the results as they were left, where this page was opened from them. @param {MouseEvent} event */
function goBack(event) {
  if (!history.state?.results || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.back();
}

/** For an answer, load its question. @param {string} id @param {AbortSignal} signal */
async function loadPost(id, signal) {
  const thread = await loadThread(id, signal);
  return thread.post.parent ? loadThread(thread.post.parent, signal) : thread;
}
