/** A hit: a similar question, or an answer. */
import { el } from "./dom.js";
import {
  acceptedFact, answersFact, dateFact, facts, likelihoodBadge, sourceFact, tagsFact, votesFact,
} from "./facts.js";
import { feedbackButtons, opened } from "./feedback.js";
import { fold, shortened } from "./fold.js";
import { icon } from "./icons.js";
import { fill } from "./panel.js";
import { address, currentRoute } from "./route.js";
import { loadThread, postLink, threadParts } from "./thread.js";
import { whyFold } from "./why.js";
import { marked, quoted } from "./words.js";

/** @param {import("./api.js").Similar} hit @param {string} question */
export function questionHit(hit, question) {
  const title = fold(
    [icon("chevron"), el("span", {}, marked(hit.title || hit.excerpt || "Untitled question", hit.words))],
    "title",
    (container) => fill(container, (signal) => loadThread(hit.id, signal),
      (thread) => threadParts(thread, hit.words)),
    () => opened(question, hit.id));
  const why = whyFold(question, hit.matched);
  return el("article", { class: "hit", "data-id": hit.id },
    el("h3", {}, title.button),
    facts(hit.pinned ? el("span", { class: "badge badge-high" }, "Pinned") : null,
      likelihoodBadge(hit.duplicate_probability), votesFact(hit.votes),
      answersFact(hit.answers, hit.accepted), dateFact(hit.created), sourceFact(hit),
      tagsFact(hit.tags)),
    hit.excerpt && hit.title ? el("p", { class: "excerpt" }, marked(hit.excerpt, hit.words)) : null,
    hit.duplicate_of && el("p", { class: "small" },
      "Marked as a duplicate of ", postLink(hit.duplicate_of, hit.duplicate_of_title || hit.duplicate_of)),
    foldedPart(hit.folded),
    title.content,
    el("div", { class: "actions" }, feedbackButtons(question, hit.id, ["same", "different"]), why.button,
      openLink(hit.id, question)),
    why.content);
}

/** Duplicates that are shown as their original. @param {{ id: string, title: string }[]} folded */
function foldedPart(folded) {
  if (!folded.length) return null;
  return el("p", { class: "small folded" }, "Also asked as ",
    folded.flatMap(({ id, title }, n) => [n ? ", " : "", postLink(id, title)]));
}

/**
 * The answers of one thread under its title.
 * @param {import("./api.js").Answer[]} answers @param {string} question
 */
export function answerThread(answers, question) {
  const [{ thread: id, thread_title: name, words }] = answers;
  const source = fold([icon("chevron"), el("span", {}, name || "Untitled question")], "source",
    (container) => fill(container, (signal) => loadThread(id, signal), (thread) => threadParts(thread, words)),
    () => opened(question, id));
  return el("section", { class: "thread-answers", "aria-label": name || "Untitled question" },
    el("h3", { class: "source" }, source.button),
    source.content,
    answers.map((hit) => answerHit(hit, question)));
}

/** @param {import("./api.js").Answer} hit @param {string} question */
function answerHit(hit, question) {
  const why = whyFold(question, hit.id);
  return el("article", { class: hit.accepted ? "hit answer-accepted" : "hit", "data-id": hit.id },
    hit.question_id !== hit.thread && el("p", { class: "small" }, "Given to ", postLink(hit.question_id, hit.question_title)),
    facts(hit.accepted ? acceptedFact() : null, votesFact(hit.votes), dateFact(hit.created),
      sourceFact(hit)),
    shortened(quoted(hit.html, hit.text, hit.words), hit.text.length),
    el("div", { class: "actions" }, feedbackButtons(question, hit.id, ["answered"]), why.button,
      openLink(hit.question_id, question)),
    why.content);
}

/** @param {string} id @param {string} q */
function openLink(id, q) {
  return el("a", { class: "action", href: address({ ...currentRoute(), q, post: id }), "data-route": true,
    on: { click: () => opened(q, id) } }, icon("link"), "Open");
}
