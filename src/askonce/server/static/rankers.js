/** The list of rankers, and a control to choose one. */
import { get } from "./api.js";
import { el, freshId } from "./dom.js";

const NAMES = {
  best: "Best (default)", bm25: "Words (BM25)", vectors: "Meaning (vectors)",
  fused: "Words and meaning", pair: "Pair model", typed: "As while typing",
};

/** @param {string} ranker */
export const rankerName = (ranker) => NAMES[/** @type {keyof typeof NAMES} */ (ranker)] ?? ranker;

/** @type {Promise<string[]> | null} */
let known = null;

/** @returns {Promise<string[]>} */
function rankers() {
  known ??= get("rankers").then((response) => response.rankers, () => {
    known = null; // try again the next time
    return ["best", "bm25"];
  });
  return known;
}

/** Load the list again: training may have added rankers. */
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
