/** Metrics of each system compared to BM25. */
import { el } from "./dom.js";
import { decimal, plural, signed } from "./format.js";

const NAMES = { bm25: "BM25", vectors: "Vectors", pair: "Pair model", fused: "Combined", "while typing": "While typing" };
const SPLITS = { dev: "Dev", test: "Test" };

/**
 * @param {string} split
 * @param {Record<string, Record<string, number>>} systems  system → metric → value
 * @param {number | undefined} queries  number of test questions
 * @param {string[]} stages  in service
 * @param {string} task  what is ranked
 */
export function figuresTable(split, systems, queries, stages, task) {
  const metrics = [...new Set(Object.values(systems).flatMap((figures) => Object.keys(figures)))];
  const serves = inService(systems, stages);
  const name = SPLITS[/** @type {keyof typeof SPLITS} */ (split)] ?? split;
  const label = queries ? `${name}, ${plural(queries, "question")}` : name;
  const rows = Object.entries(systems).filter(([system]) => system !== "fused" || stages.length > 1);
  /** @param {boolean} part  whether of what serves, or of what was tried beside it */
  const table = (part) => el("div", { class: "scroll", tabindex: 0, role: "region",
    "aria-label": `Metrics: ${label}, ${task.toLowerCase()}${part ? "" : ", other systems"}` },
  el("table", { class: "figures" },
    el("caption", {}, label),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "System"),
      metrics.map((metric) => el("th", { scope: "col" }, metric)))),
    el("tbody", {}, rows.filter(([system]) => system in NAMES === part).map(([system, figures]) =>
      row(system, figures, metrics, systems.bm25, system === serves)))));
  const others = rows.filter(([system]) => !(system in NAMES)).length;
  return el("div", {}, table(true), others > 0 && el("details", { class: "numbers tried" },
    el("summary", {}, `${plural(others, "other system")} that ${others === 1 ? "was" : "were"} tried`), table(false)));
}

/** "fused minilm" → "Combined, minilm". @param {string} system */
function systemName(system) {
  const [stage, ...rest] = system.split(" ");
  const known = NAMES[/** @type {keyof typeof NAMES} */ (system)];
  return known ?? [NAMES[/** @type {keyof typeof NAMES} */ (stage)] ?? stage, rest.join(" ")].filter(Boolean).join(", ");
}

/**
 * The most important metric on test, as a sentence with its interval and the number of questions.
 * @param {{ figures: Record<string, Record<string, Record<string, number>>>, queries: Record<string, number>,
 *   intervals?: Record<string, Record<string, [number, number]>> }} task
 * @param {string[]} stages
 */
export function comparison({ figures, intervals, queries }, stages) {
  const systems = figures.test ?? {};
  const name = inService(systems, stages);
  const [metric, value] = Object.entries(systems[name] ?? {})[0] ?? [];
  const bm25 = metric && systems.bm25?.[metric];
  if (!metric || bm25 === undefined || value === undefined) return null;
  const interval = intervals?.test?.[name];
  const between = interval ? ` (95 % interval ${decimal(interval[0], 3)} to ${decimal(interval[1], 3)})` : "";
  const on = ` on ${plural(queries.test ?? 0, "test question")}`;
  if (name === "bm25") {
    return el("p", { class: "headline" }, `BM25 was best on dev and is in service: ${metric} ${decimal(value, 3)}${between}${on}.`);
  }
  const gain = signed((100 * (value - bm25)) / (bm25 || 1), 0);
  return el("p", { class: "headline" }, `${metric} `, el("strong", {}, decimal(value, 3)), between, on,
    `, compared to ${decimal(bm25, 3)} for BM25: `,
    el("strong", { class: value >= bm25 ? "good" : "bad" }, `${gain} %`));
}

/** @param {Record<string, Record<string, number>>} systems @param {string[]} stages */
const inService = (systems, stages) => (stages.length > 1 && systems.fused ? "fused" : stages[0] ?? "bm25");

/**
 * @param {string} system
 * @param {Record<string, number>} figures
 * @param {string[]} metrics
 * @param {Record<string, number> | undefined} bm25
 * @param {boolean} serves
 */
function row(system, figures, metrics, bm25, serves) {
  return el("tr", { class: serves ? "in-service" : null },
    el("th", { scope: "row" }, systemName(system),
      serves && el("small", {}, "in service")),
    metrics.map((metric) => el("td", {},
      cell(figures[metric], system === "bm25" ? undefined : bm25?.[metric]))));
}

/** @param {number | undefined} value @param {number | undefined} baseline */
function cell(value, baseline) {
  if (value === undefined) return "–";
  const gain = baseline === undefined ? null : value - baseline;
  return el("span", { class: "figure" },
    el("span", { class: "figure-number" }, decimal(value, 3),
      gain !== null && el("small", { class: gain >= 0 ? "good" : "bad" }, signed(gain, 3))),
    el("span", { class: "figure-bar", vars: { share: value } }));
}
