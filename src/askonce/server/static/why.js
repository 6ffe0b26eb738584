/** Why a hit has its rank: score by stage, shared words, word weights. */
import { get } from "./api.js";
import { el } from "./dom.js";
import { fold } from "./fold.js";
import { decimal, plural, scoreText, signed } from "./format.js";
import { fill } from "./panel.js";

/**
 * @typedef {{ name: string, score: number, z: number, weight: number }} Stage
 * @typedef {{ kind: string, side: "query" | "candidate", words: string[], weights: number[] }} WordWeights
 * @typedef {{ id: string, score: number, stages: Stage[], words: WordWeights[], shared: string[] }} Why
 */

const STAGES = {
  bm25: ["Words", "shared words, rare ones count more (BM25)"],
  vectors: ["Meaning", "similarity of the encoder’s vectors"],
  pair: ["Pair model", "a model that reads both texts together"],
  asked: ["Question", "match of the question it answers"],
  votes: ["Votes", "upvotes and accepted answers"],
};
const SIDES = { query: "Your question", candidate: "This post" };
const WORDS_SHOWN = 120;

/** @param {string} question @param {string} id */
export function whyFold(question, id) {
  return fold(["Why this?"], "why", (container) => {
    fill(container, (signal) => get("why", { q: question, id }, signal), whyParts);
  });
}

/** @param {Why} why */
function whyParts(why) {
  return [
    el("h4", {}, "Score by stage"),
    stageTable(why),
    el("h4", {}, "Shared words"),
    sharedWords(why.shared),
    ...wordWeights(why.words),
  ];
}

/**
 * The length of a stage's bar is its contribution to the score: the raw score of a single stage, or
 * z-score times weight of several. With rank fusion neither adds up, so it is the z-score.
 * @param {Stage[]} stages @param {number} total
 * @returns {{ heading: string, of: (stage: Stage) => number }}
 */
function measure(stages, total) {
  const raw = (/** @type {Stage} */ stage) => stage.score;
  const weighted = (/** @type {Stage} */ stage) => stage.z * stage.weight;
  const contribution = [raw, weighted].find((of) =>
    Math.abs(stages.reduce((sum, stage) => sum + of(stage), -total)) < 0.01);
  return contribution ? { heading: "Adds", of: contribution } : { heading: "z-score", of: (stage) => stage.z };
}

/** @param {Why} why */
function stageTable({ stages: all, score }) {
  const stages = all.filter(({ name, score: own }) => name !== "asked" || own);
  if (!stages.length) return el("p", { class: "small" }, "This post was not among the candidates.");
  const { heading, of } = measure(stages, score);
  const most = Math.max(...stages.map((stage) => Math.abs(of(stage))), 1e-9);
  return el("table", { class: "stages" },
    el("thead", {}, el("tr", {},
      ["Stage", heading, "Score", "Weight"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, stages.map((stage) => stageRow(stage, of(stage), most))),
    el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "Total"),
      el("td", { colspan: 3 }, decimal(score)))));
}

/** @param {Stage} stage @param {number} value @param {number} most */
function stageRow(stage, value, most) {
  const [name, help] = STAGES[/** @type {keyof typeof STAGES} */ (stage.name)] ?? [stage.name, ""];
  const standing = `${decimal(Math.abs(stage.z), 1)} standard deviations `
    + `${stage.z < 0 ? "below" : "above"} the mean of the candidates`;
  return el("tr", { title: standing },
    el("th", { scope: "row" }, name, el("small", {}, help)),
    el("td", {}, el("span", { class: "bar-cell" },
      el("span", { class: value < 0 ? "bar bar-less" : "bar", vars: { share: Math.abs(value) / most } }),
      el("span", { class: "bar-number" }, signed(value)))),
    el("td", { class: "number" }, scoreText(stage.score)),
    el("td", { class: "number" }, decimal(stage.weight)));
}

/** @param {string[]} shared */
function sharedWords(shared) {
  if (!shared.length) return el("p", { class: "small" }, "None. It matches by meaning only.");
  return el("p", { class: "chips" }, shared.map((word) => el("span", { class: "chip" }, word)));
}

/** @param {WordWeights[]} words */
function wordWeights(words) {
  const kinds = [...new Set(words.map(({ kind }) => kind))];
  if (!kinds.length) return [];
  return [
    el("h4", {}, "Word weights in the model"),
    ...kinds.map((kind) => el("figure", { class: "weighed" },
      el("figcaption", {}, kind),
      words.filter((side) => side.kind === kind).map(shadedWords))),
  ];
}

/** @param {WordWeights} side */
function shadedWords({ side, words, weights }) {
  const least = Math.min(...weights);
  const spread = Math.max(...weights) - least || 1;
  const shown = words.slice(0, WORDS_SHOWN).map((word, n) => el("span", {
    class: "shaded", vars: { weight: ((weights[n] - least) / spread).toFixed(2) },
    title: decimal(weights[n], 3),
  }, word));
  const more = words.length - shown.length;
  return el("div", { class: "weighed-side" },
    el("p", { class: "small" }, `${SIDES[side]}. Top words: ${topWords(words, weights)}`),
    el("p", { class: "shaded-words" }, shown.flatMap((word) => [word, " "]),
      more > 0 && el("span", { class: "small" }, `and ${plural(more, "more word")}`)));
}

/** The three words with the largest weights. @param {string[]} words @param {number[]} weights */
function topWords(words, weights) {
  const order = words.map((_, n) => n).sort((a, b) => weights[b] - weights[a]);
  return [...new Set(order.map((n) => words[n]))].slice(0, 3).join(", ");
}
