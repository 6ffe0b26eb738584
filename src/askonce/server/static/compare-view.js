/** Two rankers side by side on one question. */
import { get } from "./api.js";
import { announce, el, unseen } from "./dom.js";
import { acceptedFact, answersFact, facts, likelihoodBadge, votesFact } from "./facts.js";
import { icon } from "./icons.js";
import { drop, fill, notice } from "./panel.js";
import { questionBox, slashFocuses } from "./question-box.js";
import { forgetRankers, rankerChoice, rankerName } from "./rankers.js";
import { currentRoute, go } from "./route.js";
import { postLink } from "./thread.js";
import { marked } from "./words.js";

const K = 10;

/** @typedef {import("./route.js").Route} Route */
/** @typedef {import("./api.js").Similar & import("./api.js").Answer} AnyHit */
/** @typedef {{ took_ms: number, hits: AnyHit[] }} Ranking */

/** @param {HTMLElement} root @param {AbortSignal} signal @returns {(route: Route) => void} */
export function compareView(root, signal) {
  const results = el("div", { class: "results" });
  const { form, box } = questionBox("Question to compare on", "Enter a question", "Compare",
    (q) => go({ ...currentRoute(), q }));
  slashFocuses(box, signal);
  forgetRankers();
  const left = rankerChoice("Left", (name) => go({ ...currentRoute(), left: name }));
  const right = rankerChoice("Right", (name) => go({ ...currentRoute(), right: name }));
  const kind = kindChoice();
  root.append(
    el("div", { class: "page-head" }, el("h1", {}, "Compare"),
      el("p", { class: "lead" }, "See how two rankers order the results for one question.")),
    form,
    el("div", { class: "choices" }, left.part, right.part, kind.part),
    results);

  return (route) => {
    document.title = "Compare – Askonce";
    box.value = route.q;
    left.show(route.left);
    right.show(route.right);
    kind.show(route.of);
    if (route.q) compare(results, route);
    else drop(results);
  };
}

/** @returns {{ part: HTMLElement, show: (of: Route["of"]) => void }} */
function kindChoice() {
  const buttons = /** @type {const} */ (["questions", "answers"]).map((of) => el("button", {
    type: "button", on: { click: () => go({ ...currentRoute(), of }) }, "data-of": of,
  }, of === "questions" ? "Questions" : "Answers"));
  return {
    part: el("span", { class: "segments", role: "group", "aria-label": "Rank questions or answers" }, buttons),
    show: (of) => buttons.forEach((button) =>
      button.setAttribute("aria-pressed", String(button.dataset.of === of))),
  };
}

/** @param {HTMLElement} container @param {Route} route */
function compare(container, { q, left, right, of }) {
  /** @param {string} ranker @param {AbortSignal} signal @returns {Promise<Ranking>} */
  const rank = async (ranker, signal) => {
    const response = await get(of === "questions" ? "similar" : "answers", { q, k: K, ranker }, signal);
    return { took_ms: response.took_ms, hits: response.similar ?? response.answers };
  };
  return fill(container, (signal) => Promise.all([rank(left, signal), rank(right, signal)]),
    ([one, other]) => {
      if (!one.hits.length && !other.hits.length) {
        return [notice("Neither ranker found anything.")];
      }
      const text = summary(one.hits, other.hits);
      announce(text);
      return [
        el("p", { class: "verdict verdict-unknown" }, text),
        el("div", { class: "columns even" },
          ranked(left, one, (hit) => other.hits.some(({ id }) => id === hit.id) ? null : onlyHere()),
          ranked(right, other, (hit, n) => moveMark(one.hits.findIndex(({ id }) => id === hit.id), n))),
      ];
    });
}

/** @param {AnyHit[]} one @param {AnyHit[]} other */
function summary(one, other) {
  const common = one.filter(({ id }) => other.some((hit) => hit.id === id)).length;
  const top = one[0]?.id === other[0]?.id ? "same top result" : "different top result";
  return `${common} of ${Math.max(one.length, other.length)} results in common, ${top}.`;
}

/** @param {string} ranker @param {Ranking} ranking @param {(hit: AnyHit, n: number) => Node | null} mark */
function ranked(ranker, { hits, took_ms: took }, mark) {
  return el("section", { class: "column", "aria-label": rankerName(ranker) },
    el("h2", {}, rankerName(ranker), el("span", { class: "tally" }, `${took.toFixed(1)} ms`)),
    hits.length
      ? el("ol", { class: "ranking" }, hits.map((hit, n) => row(hit, n, mark(hit, n))))
      : notice("Nothing found."));
}

/** @param {AnyHit} hit @param {number} n @param {Node | null} mark */
function row(hit, n, mark) {
  return el("li", { class: "ranked", "data-id": hit.id, on: { pointerenter: twin, pointerleave: twin,
    focusin: twin, focusout: twin } },
  el("span", { class: "rank" }, unseen("Rank "), n + 1),
  el("div", {},
    el("p", { class: "ranked-title" },
      postLink(hit.question_id ?? hit.id, hit.question_title ?? hit.title), mark),
    hit.text && el("p", { class: "excerpt" }, marked(hit.text, hit.words)),
    facts(likelihoodBadge(hit.duplicate_probability), hit.question_id && hit.accepted ? acceptedFact() : null,
      votesFact(hit.votes), hit.question_id ? null : answersFact(hit.answers, hit.accepted))));
}

/** Highlight the same hit in the other list. @param {Event} event */
function twin(event) {
  const row = /** @type {HTMLElement} */ (event.currentTarget);
  const on = event.type === "pointerenter" || event.type === "focusin";
  for (const other of document.querySelectorAll(".ranked")) {
    if (other.getAttribute("data-id") === row.dataset.id) other.classList.toggle("twin", on);
  }
}

/** @param {number} before  -1 if the left ranker does not have it @param {number} now */
function moveMark(before, now) {
  if (before < 0) return onlyHere();
  if (before === now) return el("span", { class: "move" }, "same rank");
  const up = before > now;
  return el("span", { class: up ? "move move-up" : "move move-down" },
    icon(up ? "up" : "down"), unseen(up ? "moved up by " : "moved down by "), Math.abs(before - now));
}

const onlyHere = () => el("span", { class: "move move-new" }, "only here");
