/** The small facts about a post: votes, answers, accepted, tags, date, probability. */
import { el, unseen } from "./dom.js";
import { count, date, likelihood, percent, plural } from "./format.js";
import { icon } from "./icons.js";
import { address, currentRoute } from "./route.js";

/** @param {...(Node | null)} parts */
export function facts(...parts) {
  return el("ul", { class: "facts" }, parts.filter(Boolean).map((part) => el("li", {}, part)));
}

/** @param {number | null} votes */
export function votesFact(votes) {
  if (votes === null || votes === undefined) return null;
  return el("span", { class: "fact" }, icon("votes"), count(votes), unseen(votes === 1 ? " vote" : " votes"));
}

/** @param {number} answers @param {boolean} accepted */
export function answersFact(answers, accepted) {
  if (!answers) return el("span", { class: "fact" }, "no answers yet");
  return el("span", { class: accepted ? "fact good" : "fact" },
    icon(accepted ? "accepted" : "answers"), plural(answers, "answer"),
    accepted && unseen(", one accepted"));
}

export function acceptedFact() {
  return el("span", { class: "fact good" }, icon("accepted"), "Accepted");
}

/** @param {string | null} created */
export function dateFact(created) {
  const text = date(created);
  return text ? el("time", { class: "fact", datetime: created }, text) : null;
}

/**
 * "Ada on bikes.example, CC BY-SA 4.0", with links; what a licence's attribution asks for.
 * @param {import("./api.js").Source} source
 */
export function sourceFact({ url, author, author_url: authorUrl, site, licence }) {
  if (!url && !author && !site) return null;
  const where = site || (url ? new URL(url).host : "");
  return el("span", { class: "fact" },
    author && outward(authorUrl, author), author && where && " on ", where && outward(url, where),
    licence && `, ${licence}`);
}

/** A link out of the archive, or its text without an address. @param {string | null} href @param {string} text */
const outward = (href, text) =>
  (href ? el("a", { href, rel: "noopener noreferrer" }, text) : text);

/** The results with a tag, of the current question or of the tag itself. @param {string} tag */
function tagAddress(tag) {
  const route = currentRoute();
  return address({ ...route, view: "ask", q: route.q || tag, post: null, tag, page: 1 });
}

/** @param {string[]} tags */
export function tagsFact(tags) {
  if (!tags.length) return null;
  return el("span", { class: "tags" }, unseen("Tags: "),
    tags.map((tag) => el("a", { class: "tag", href: tagAddress(tag),
      "data-route": true }, tag)));
}

/** @param {number | null} probability @param {number} [least]  below this, no badge */
export function likelihoodBadge(probability, least = 0) {
  if (probability === null || probability === undefined || probability < least) return null;
  const { words, level } = likelihood(probability);
  return el("span", { class: `badge badge-${level}`, title: "Probability that this is the same question" },
    words, el("span", { class: "badge-number" }, percent(probability)));
}

/** For pairs without a calibrated probability. @param {number} share  of the question's own BM25 score */
export function overlapBadge(share) {
  return el("span", { class: "badge badge-middle", title: "BM25 score as a share of the question’s own" },
    "BM25 match", el("span", { class: "badge-number" }, percent(share)));
}
