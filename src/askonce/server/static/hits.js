/** A hit: a similar question, or an answer. */
import { el } from "./dom.js";
import {
  acceptedFact, answersFact, dateFact, facts, likelihoodBadge, tagsFact, votesFact,
} from "./facts.js";
import { fold, shortened } from "./fold.js";
import { icon } from "./icons.js";
import { fill } from "./panel.js";
import { address } from "./route.js";
import { loadThread, postLink, threadParts } from "./thread.js";
import { whyFold } from "./why.js";
import { marked, quoted } from "./words.js";

/** @param {import("./api.js").Similar} hit @param {string} question */
export function questionHit(hit, question) {
  const title = fold(
    [icon("chevron"), el("span", {}, marked(hit.title || hit.excerpt || "Untitled question", hit.words))],
    "title",
    (container) => fill(container, (signal) => loadThread(hit.id, signal),
      (thread) => threadParts(thread, hit.words)));
  const why = whyFold(question, hit.id);
  return el("article", { class: "hit", "data-id": hit.id },
    el("h3", {}, title.button),
    facts(likelihoodBadge(hit.duplicate_probability), votesFact(hit.votes),
      answersFact(hit.answers, hit.accepted), dateFact(hit.created), tagsFact(hit.tags)),
    hit.excerpt && hit.title ? el("p", { class: "excerpt" }, marked(hit.excerpt, hit.words)) : null,
    hit.duplicate_of && el("p", { class: "small" },
      "Marked as a duplicate of ", postLink(hit.duplicate_of, "an earlier question")),
    title.content,
    el("div", { class: "actions" }, why.button, openLink(hit.id, question)),
    why.content);
}

/** @param {import("./api.js").Answer} hit @param {string} question */
export function answerHit(hit, question) {
  const source = fold([icon("chevron"), el("span", {}, hit.question_title || "Untitled question")], "source",
    (container) => fill(container, (signal) => loadThread(hit.question_id, signal),
      (thread) => threadParts(thread, hit.words)));
  const why = whyFold(question, hit.id);
  return el("article", { class: hit.accepted ? "hit answer-accepted" : "hit", "data-id": hit.id },
    el("h3", { class: "source" }, source.button),
    facts(hit.accepted ? acceptedFact() : null, votesFact(hit.votes), dateFact(hit.created)),
    shortened(quoted(hit.html, hit.text, hit.words), hit.text.length),
    source.content,
    el("div", { class: "actions" }, why.button, openLink(hit.question_id, question)),
    why.content);
}

/** @param {string} id @param {string} q */
function openLink(id, q) {
  return el("a", { class: "action", href: address({ q, post: id }), "data-route": true },
    icon("link"), "Open");
}
