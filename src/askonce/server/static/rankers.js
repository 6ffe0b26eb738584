/** The rankers that can be chosen, with names that explain themselves. */
import { get } from "./api.js";
import { el, freshId } from "./dom.js";

const NAMES = {
  best: "Best (as served)", bm25: "Words only (BM25)", vectors: "Meaning only (vectors)",
  fused: "Words and meaning, fused", pair: "Pair model",
};

/** @param {string} ranker */
export const rankerName = (ranker) => NAMES[/** @type {keyof typeof NAMES} */ (ranker)] ?? ranker;

/** @type {Promise<string[]> | null} */
let known = null;

/** @returns {Promise<string[]>} */
function rankers() {
  known ??= get("rankers").then((told) => told.rankers, () => {
    known = null; // ask again the next time
    return ["best", "bm25"];
  });
  return known;
}

/** Ask anew: a training may have brought more. */
export function forgetRankers() {
  known = null;
}

/**
 * @param {string} label
 * @param {(ranker: string) => void} choose
 * @returns {{ part: HTMLElement, show: (ranker: string) => Promise<void> }}
 */
export function rankerChoice(label, choose) {
  const id = freshId();
  const select = /** @type {HTMLSelectElement} */ (el("select", { id,
    on: { change: () => choose(select.value) } }));

  /** @param {string} ranker */
  async function show(ranker) {
    const names = await rankers();
    const all = names.includes(ranker) ? names : [...names, ranker];
    select.replaceChildren(...all.map((name) => el("option", { value: name }, rankerName(name))));
    select.value = ranker;
  }
  return { part: el("span", { class: "choice" }, el("label", { for: id }, label), select), show };
}
