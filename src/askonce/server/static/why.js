/** Why a hit stands where it stands: its score by stage, the words shared, the words weighed. */
import { get } from "./api.js";
import { el } from "./dom.js";
import { fold } from "./fold.js";
import { decimal, plural, scoreText, signed } from "./format.js";
import { fill } from "./panel.js";

/**
 * @typedef {{ name: string, score: number, z: number, weight: number }} Stage
 * @typedef {{ kind: string, side: "query" | "candidate", words: string[], weights: number[] }} Weighed
 * @typedef {{ id: string, score: number, stages: Stage[], words: Weighed[], shared: string[] }} Why
 */

const STAGES = {
  bm25: ["Words", "shared words, the rare ones counting more (BM25)"],
  vectors: ["Meaning", "closeness of the two texts as the encoder reads each"],
  pair: ["Pair", "the pair model reading both texts together"],
  asked: ["Its question", "how well the question that it answers fits"],
  votes: ["Votes", "what readers thought of it"],
  accepted: ["Accepted", "marked by the one who asked"],
};
const SIDES = { query: "Your question", candidate: "This post" };
const WORDS_SHOWN = 120;

/** @param {string} question @param {string} id */
export function whyFold(question, id) {
  return fold(["Why this?"], "why", (place) => {
    fill(place, (signal) => get("why", { q: question, id }, signal), whyParts);
  });
}

/** @param {Why} why */
function whyParts(why) {
  return [
    el("h4", {}, "Score by stage"),
    stageTable(why),
    el("h4", {}, "Words in common"),
    sharedWords(why.shared),
    ...weighed(why.words),
  ];
}

/**
 * What a stage's bar shows: the part of the score that it gave. One stage counts as it is, several
 * by how far they stand out among the candidates; where ranks were joined, neither adds up.
 * @param {Stage[]} stages @param {number} total
 * @returns {{ heading: string, of: (stage: Stage) => number }}
 */
function measure(stages, total) {
  const plain = (/** @type {Stage} */ stage) => stage.score;
  const standing = (/** @type {Stage} */ stage) => stage.z * stage.weight;
  const adding = [plain, standing].find((of) =>
    Math.abs(stages.reduce((sum, stage) => sum + of(stage), -total)) < 0.01);
  return adding ? { heading: "Adds", of: adding } : { heading: "Stands out", of: (stage) => stage.z };
}

/** @param {Why} why */
function stageTable({ stages: all, score }) {
  const stages = all.filter(({ name, score: own }) => name !== "asked" || own);
  if (!stages.length) return el("p", { class: "small" }, "It was not among the candidates.");
  const { heading, of } = measure(stages, score);
  const most = Math.max(...stages.map((stage) => Math.abs(of(stage))), 1e-9);
  return el("table", { class: "stages" },
    el("thead", {}, el("tr", {},
      ["Stage", heading, "Score", "Weight"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, stages.map((stage) => stageRow(stage, of(stage), most))),
    el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "Together"),
      el("td", { colspan: 3 }, decimal(score)))));
}

/** @param {Stage} stage @param {number} value @param {number} most */
function stageRow(stage, value, most) {
  const [name, help] = STAGES[/** @type {keyof typeof STAGES} */ (stage.name)] ?? [stage.name, ""];
  const place = `${decimal(Math.abs(stage.z), 1)} standard deviations `
    + `${stage.z < 0 ? "below" : "above"} the mean of the candidates`;
  return el("tr", { title: place },
    el("th", { scope: "row" }, name, el("small", {}, help)),
    el("td", {}, el("span", { class: "bar-cell" },
      el("span", { class: value < 0 ? "bar bar-less" : "bar", vars: { share: Math.abs(value) / most } }),
      el("span", { class: "bar-number" }, signed(value)))),
    el("td", { class: "number" }, scoreText(stage.score)),
    el("td", { class: "number" }, decimal(stage.weight)));
}

/** @param {string[]} shared */
function sharedWords(shared) {
  if (!shared.length) return el("p", { class: "small" }, "None: it was found by meaning, not by its words.");
  return el("p", { class: "chips" }, shared.map((word) => el("span", { class: "chip" }, word)));
}

/** @param {Weighed[]} words */
function weighed(words) {
  const kinds = [...new Set(words.map(({ kind }) => kind))];
  if (!kinds.length) return [];
  return [
    el("h4", {}, "How much the model weighs each word"),
    ...kinds.map((kind) => el("figure", { class: "weighed" },
      el("figcaption", {}, kind),
      words.filter((side) => side.kind === kind).map(shadedWords))),
  ];
}

/** @param {Weighed} side */
function shadedWords({ side, words, weights }) {
  const least = Math.min(...weights);
  const spread = Math.max(...weights) - least || 1;
  const shown = words.slice(0, WORDS_SHOWN).map((word, n) => el("span", {
    class: "shaded", vars: { weight: ((weights[n] - least) / spread).toFixed(2) },
    title: decimal(weights[n], 3),
  }, word));
  const more = words.length - shown.length;
  return el("div", { class: "weighed-side" },
    el("p", { class: "small" }, `${SIDES[side]}. Most: ${strongest(words, weights)}`),
    el("p", { class: "shaded-words" }, shown.flatMap((word) => [word, " "]),
      more > 0 && el("span", { class: "small" }, `and ${plural(more, "more word")}`)));
}

/** The three words that weigh most. @param {string[]} words @param {number[]} weights */
function strongest(words, weights) {
  const order = words.map((_, n) => n).sort((a, b) => weights[b] - weights[a]);
  return [...new Set(order.map((n) => words[n]))].slice(0, 3).join(", ");
}
