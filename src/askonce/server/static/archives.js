/** The list of archives: a search over all of them that the API key may read. */
import { get } from "./api.js";
import { announce, el } from "./dom.js";
import { acceptedFact, answersFact, dateFact, facts, likelihoodBadge, sourceFact, votesFact } from "./facts.js";
import { plural } from "./format.js";
import { drop, fill, notice } from "./panel.js";
import { questionBox, slashFocuses } from "./question-box.js";
import { marked } from "./words.js";

/**
 * @typedef {import("./api.js").Similar & { archive: string }} Question
 * @typedef {import("./api.js").Answer & { archive: string }} Answer
 * @typedef {{ similar: Question[], answers: Answer[], searched: string[],
 *   failed: Record<string, string> }} Found
 */

const EXCERPT = 300; // characters of an answer
const search = /** @type {HTMLElement} */ (document.getElementById("search"));
const results = /** @type {HTMLElement} */ (document.getElementById("results"));
const { form, box } = questionBox("Your question", "How do I …", "Search", (q) => {
  if (q !== asked()) history.pushState(null, "", `?${new URLSearchParams({ q })}`);
  show();
});

/** The question in the address. */
const asked = () => (new URLSearchParams(location.search).get("q") ?? "").trim();

function show() {
  const q = asked();
  box.value = q;
  document.title = q ? `${q} – Askonce` : "Askonce";
  if (!q) { drop(results); return; }
  fill(results, (signal) => get("search", { q }, signal), (/** @type {Found} */ found) => {
    announce(`${plural(found.similar.length, "similar question")} and ${plural(found.answers.length, "answer")} found.`);
    return [
      ...Object.entries(found.failed).map(([name, reason]) => notice(`${name} was not searched: ${reason}.`)),
      el("div", { class: "columns" },
        column("Similar questions", found.similar.map((hit) => questionHit(hit, q)), "No similar questions found."),
        column("Answers", found.answers.map((hit) => answerHit(hit, q)), "No answers found.")),
    ];
  });
}

/** @param {string} title @param {Node[]} items @param {string} none */
function column(title, items, none) {
  return el("section", { class: "column", "aria-label": title },
    el("h2", {}, title, items.length > 0 && el("span", { class: "tally" }, items.length)),
    items.length ? el("ol", { class: "hits" }, items.map((item) => el("li", {}, item))) : notice(none));
}

/** @param {Question} hit @param {string} q */
function questionHit(hit, q) {
  return el("article", { class: "hit" },
    el("h3", {}, el("a", { href: place(hit.archive, hit.id, q) }, marked(hit.title || hit.excerpt || "Untitled question", hit.words))),
    facts(archiveFact(hit.archive), likelihoodBadge(hit.duplicate_probability), votesFact(hit.votes),
      answersFact(hit.answers, hit.accepted), dateFact(hit.created), sourceFact(hit)),
    hit.excerpt && hit.title ? el("p", { class: "excerpt" }, marked(hit.excerpt, hit.words)) : null);
}

/** @param {Answer} hit @param {string} q */
function answerHit(hit, q) {
  const text = hit.text.length > EXCERPT ? `${hit.text.slice(0, EXCERPT)}…` : hit.text;
  return el("article", { class: hit.accepted ? "hit answer-accepted" : "hit" },
    el("h3", {}, el("a", { href: place(hit.archive, hit.thread, q) }, hit.thread_title || "Untitled question")),
    facts(archiveFact(hit.archive), hit.accepted ? acceptedFact() : null, votesFact(hit.votes),
      dateFact(hit.created), sourceFact(hit)),
    el("p", { class: "excerpt" }, marked(text, hit.words)));
}

/** @param {string} archive */
const archiveFact = (archive) => el("a", { class: "tag", href: `${archive}/` }, archive);

/** A post on the page of its archive. @param {string} archive @param {string} post @param {string} q */
const place = (archive, post, q) => `${archive}/?${new URLSearchParams({ q, post })}`;

search.append(form);
slashFocuses(box, new AbortController().signal);
addEventListener("popstate", show);
show();
if (!asked()) box.focus();
