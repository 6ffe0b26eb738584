/** The archive at a glance: size, growth, unanswered questions, likely duplicates. */
import { get } from "./api.js";
import { lineChart } from "./charts.js";
import { el } from "./dom.js";
import { dateFact, facts, likelihoodBadge, overlapBadge } from "./facts.js";
import { longList } from "./fold.js";
import { count, monthName, plural, shareOf } from "./format.js";
import { fill, notice } from "./panel.js";
import { address } from "./route.js";
import { onStatus } from "./status.js";
import { postLink } from "./thread.js";

/**
 * @typedef {{ questions: number, answers: number, accepted: number, answered: number,
 *   duplicates: number, related: number, edits: number }} Counts
 * @typedef {{ month: string, questions: number, answers: number }} Month
 * @typedef {{ answer_id: string, question_id: string, question_title: string, text: string,
 *   probability: number, calibrated: boolean }} Likely
 * @typedef {{ id: string, title: string, created: string | null, likely: Likely | null }} Unanswered
 * @typedef {{ id: string, title: string, other_id: string, other_title: string,
 *   probability: number, calibrated: boolean }} Pair
 * @typedef {{ counts: Counts, growth: Month[], unanswered: Unanswered[],
 *   duplicates_found: Pair[] }} Overview
 */

/** @param {HTMLElement} root @param {AbortSignal} signal  aborts when the view is closed */
export function archiveView(root, signal) {
  const body = el("div", { class: "results" });
  root.append(el("div", { class: "page-head" }, el("h1", {}, "Archive"),
    el("p", { class: "lead" }, "Size, growth, unanswered questions and likely duplicates.")), body);
  let shown = "";
  const load = () => fill(body, (loading) => get("overview", {}, loading), overviewParts);
  onStatus(({ change, model }) => {
    const state = `${change} ${model}`;
    if (shown && shown !== state) load(); // another model serves, or posts have changed
    shown = state;
  }, signal);
  return () => {
    document.title = "Archive – Askonce";
    load();
  };
}

/** @param {Overview} overview */
function overviewParts({ counts, growth, unanswered, duplicates_found: pairs }) {
  if (!counts.questions && !counts.answers) {
    return [el("div", { class: "nothing" }, el("h2", {}, "The archive is empty"),
      el("p", {}, "Add posts with ", el("code", {}, "askonce import"), " or with ",
        el("code", {}, "POST /api/posts"), "."))];
  }
  return [
    tiles(counts),
    growth.length > 1 ? el("section", { class: "card" }, growthChart(growth)) : null,
    el("div", { class: "columns even" }, unansweredPart(unanswered), duplicatesPart(pairs)),
  ];
}

/** @param {Counts} counts */
function tiles(counts) {
  const open = counts.questions - counts.answered;
  return el("dl", { class: "tiles" }, [
    [count(counts.questions), "questions", ""],
    [count(counts.answers), "answers", counts.accepted ? `${count(counts.accepted)} accepted` : ""],
    [shareOf(counts.answered, counts.questions), "answered",
      open ? `${count(open)} unanswered` : ""],
    [count(counts.duplicates), "marked duplicates", counts.related ? `${count(counts.related)} related` : ""],
    [count(counts.edits), "edits", ""],
  ].map(([number, name, more]) => el("div", { class: "tile" },
    el("dt", {}, name), el("dd", {}, number, more && el("small", {}, more)))));
}

/** @param {Month[]} growth */
function growthChart(growth) {
  return lineChart({
    title: "New posts by month",
    labels: growth.map(({ month }) => month),
    series: [
      { name: "Answers", tone: "two", values: growth.map(({ answers }) => answers) },
      { name: "Questions", tone: "one", values: growth.map(({ questions }) => questions) },
    ],
    format: count,
    fromZero: true,
    whole: true,
    height: 200,
    say: (n) => `${monthName(growth[n].month)}: ${plural(growth[n].questions, "question")}, `
      + plural(growth[n].answers, "answer"),
  });
}

/** @param {Unanswered[]} unanswered */
function unansweredPart(unanswered) {
  return section("Unanswered questions", unanswered.length
    ? longList(unanswered.map(unansweredItem))
    : notice("Every question has an answer."));
}

/** @param {Unanswered} question */
function unansweredItem({ id, title, created, likely }) {
  return el("article", { class: "hit" },
    el("h3", {}, postLink(id, title || "Untitled question")),
    facts(dateFact(created)),
    likely
      ? el("blockquote", { class: "likely" },
        el("p", { class: "excerpt" }, likely.text),
        el("footer", { class: "small" }, "Likely answer, from ", postLink(likely.question_id, likely.question_title)),
        facts(confidenceBadge(likely)))
      : el("p", { class: "small" }, "No likely answer found."),
    el("div", { class: "actions" },
      el("a", { class: "action", href: address({ q: title }), "data-route": true }, "Search for answers")));
}

/** @param {Pair[]} pairs */
function duplicatesPart(pairs) {
  return section("Likely duplicates, not marked yet", pairs.length
    ? longList(pairs.map(duplicatePair))
    : notice("None among the newest questions. ", "Run ", el("code", {}, "askonce duplicates"),
      " to check all questions."));
}

/** @param {Pair} pair */
function duplicatePair({ id, title, other_id: otherId, other_title: otherTitle, probability, calibrated }) {
  return el("article", { class: "hit" },
    el("p", { class: "pair" }, postLink(id, title)),
    el("p", { class: "pair" }, postLink(otherId, otherTitle)),
    facts(confidenceBadge({ probability, calibrated })));
}

/** @param {{ probability: number, calibrated: boolean }} pair */
function confidenceBadge({ probability, calibrated }) {
  return calibrated === false ? overlapBadge(probability) : likelihoodBadge(probability);
}

/** @param {string} title @param {Node} content */
function section(title, content) {
  return el("section", { class: "column", "aria-label": title }, el("h2", {}, title), content);
}
