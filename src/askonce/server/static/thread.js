/** A question and its answers, in full. */
import { get } from "./api.js";
import { el } from "./dom.js";
import { acceptedFact, dateFact, facts, sourceFact, tagsFact, votesFact } from "./facts.js";
import { plural } from "./format.js";
import { notice } from "./panel.js";
import { address } from "./route.js";
import { quoted } from "./words.js";

/** @typedef {import("./api.js").Thread} Thread @typedef {import("./api.js").FullPost} FullPost */

/** @param {string} id @param {AbortSignal} signal @returns {Promise<Thread>} */
export const loadThread = (id, signal) => get(`posts/${encodeURIComponent(id)}`, {}, signal);

/**
 * The expanded content of a hit: the question's text, then its answers.
 * @param {Thread} thread
 * @param {string[]} words  to highlight
 */
export function threadParts(thread, words) {
  const { post, answers } = thread;
  return [
    post.body && el("div", { class: "asked" }, quoted(post.html, post.body, words)),
    relations(thread),
    answers.length
      ? el("ol", { class: "answers" }, answers.map((answer) => el("li", {}, answerOf(answer, words))))
      : notice(noAnswer(thread)),
  ].filter(Boolean);
}

/** @param {Thread} thread @param {number} level  of its heading */
export function wholeThread(thread, level) {
  const { post, answers } = thread;
  return el("article", { class: "whole-thread" },
    el(`h${level}`, { class: "thread-title", tabindex: -1 }, post.title || "Untitled question"),
    facts(votesFact(post.votes), el("span", { class: "fact" }, plural(answers.length, "answer")),
      dateFact(post.created), sourceFact(post), tagsFact(post.tags)),
    threadParts(thread, []));
}

/** @param {FullPost} answer @param {string[]} words */
function answerOf(answer, words) {
  return el("article", { class: answer.accepted ? "answer answer-accepted" : "answer" },
    facts(answer.accepted ? acceptedFact() : null, votesFact(answer.votes), dateFact(answer.created),
      sourceFact(answer)),
    quoted(answer.html, answer.body, words));
}

/** @param {Thread} thread */
function noAnswer({ duplicate_of: original }) {
  return original ? "See the original question for answers." : "No answers yet.";
}

/** @param {Thread} thread */
function relations({ duplicate_of: original, duplicate_of_title: title, duplicates }) {
  if (!original && !duplicates.length) return null;
  return el("p", { class: "relations" },
    original && ["Marked as a duplicate of ", postLink(original, title || original), ". "],
    duplicates.length > 0 && [
      "Duplicates: ",
      ...duplicates.flatMap(({ id, title }, n) => [n ? ", " : "", postLink(id, title || "untitled")]),
      ".",
    ]);
}

/** @param {string} id @param {string} text */
export function postLink(id, text) {
  return el("a", { href: address({ post: id }), "data-route": true }, text);
}
