/** The model in service, its metrics compared to BM25, and the progress of training. */
import { get } from "./api.js";
import { announce, el } from "./dom.js";
import { feedbackPart } from "./feedback-chart.js";
import { comparison, figuresTable } from "./figures.js";
import { count, date, duration, plural } from "./format.js";
import { fill } from "./panel.js";
import { inProgress } from "./status.js";
import { reliability } from "./reliability.js";
import { curves, trainingPart } from "./training.js";

const EVERY = 10_000;
const EVERY_WHILE_BUSY = 2_000;
const TASKS = /** @type {const} */ ([["questions", "Similar questions"], ["answers", "Answers"]]);
const LABELS = {
  duplicates: "marked duplicates", titles: "titles and their bodies",
  answers: "questions and their answers",
};
const STAGES = { bm25: "words (BM25)", vectors: "vectors", pair: "pair model" };

/**
 * @typedef {{ encoder: string | null, pair: string | null, weights: Record<string, number>,
 *   teacher?: { name: string, read: number, posts: number } | null, labels: string, figures: Record<string, Record<string, Record<string, number>>>,
 *   intervals: Record<string, Record<string, [number, number]>>,
 *   queries: Record<string, number>, history: import("./training.js").Epoch[], seconds: number }} Task
 * @typedef {{ current: string | null, created: string | null, status: import("./api.js").Status,
 *   tasks: { questions: Task | null, answers: Task | null },
 *   training: import("./training.js").Training | null,
 *   feedback: import("./feedback-chart.js").Week[] }} Models
 */

/** @param {HTMLElement} root @param {AbortSignal} signal */
export function modelView(root, signal) {
  const live = el("div", { class: "live" });
  const body = el("div", { class: "results" });
  root.append(el("div", { class: "page-head" }, el("h1", {}, "Model"),
    el("p", { class: "lead" }, "The ranker in service, measured on questions it was not trained on.")), live, body);
  /** @type {string | null | undefined} */
  let shown;
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));

  /** @param {Models} models */
  function draw(models) {
    live.replaceChildren(...liveParts(models));
    if (shown !== undefined && models.current !== shown) announce(`Model ${models.current} is in service.`);
    const busy = models.training !== null || models.status.building !== null;
    timer = setTimeout(poll, busy ? EVERY_WHILE_BUSY : EVERY);
    const changed = shown === undefined || models.current !== shown;
    shown = models.current;
    return changed ? modelParts(models) : null;
  }

  async function poll() {
    try {
      const parts = document.hidden ? null : draw(await get("models", {}, signal));
      if (parts) body.replaceChildren(...parts);
      if (!document.hidden) return;
    } catch {
      // the header shows that the server is unreachable; try again later
    }
    if (!signal.aborted) timer = setTimeout(poll, EVERY);
  }

  return () => {
    document.title = "Model – Askonce";
    clearTimeout(timer);
    shown = undefined;
    fill(body, (loading) => get("models", {}, loading), (models) => draw(models) ?? []);
  };
}

/** @param {Models} models */
function liveParts({ training, status }) {
  return [
    training && trainingPart(training),
    status.building && el("p", { class: "verdict verdict-unknown" }, inProgress(status.building)),
    status.read !== null && el("p", { class: "read-share" },
      `The teacher has read ${Math.floor(100 * status.read)} % of the posts.`,
      status.read < 1 ? " Its student serves the others." : ""),
  ].filter((part) => part instanceof Node);
}

/** @param {Models} models */
function modelParts(models) {
  return [serving(models), ...TASKS.flatMap(([name, title]) => {
    const task = models.tasks[name];
    return task ? [taskPart(title, task)] : [];
  }), feedbackPart(models.feedback)];
}

/** @param {Models} models */
function serving({ current, created, status }) {
  const behind = status.change - status.indexed;
  return el("section", { class: "card serving" },
    el("h2", {}, current ? `Model ${current} is in service` : "BM25 is in service"),
    current ? null : el("p", {},
      "No model is trained yet, so posts are ranked by shared words. Run ",
      el("code", {}, "askonce train"), " on this archive; a better model goes into service without a restart."),
    el("p", { class: "small" }, [
      date(created) ? `trained ${date(created)}` : "", plural(status.posts, "post"), `change ${count(status.change)}`,
      behind > 0 ? `${plural(behind, "change")} not indexed yet` : "index is up to date",
      status.read_only ? "read-only: another process owns the indexes" : "",
    ].filter(Boolean).join(" · ")));
}

/** @param {string} title @param {Task} task */
function taskPart(title, task) {
  const stages = Object.keys(task.weights).filter((stage) => task.weights[stage] > 0);
  return el("section", { class: "card", "aria-label": title },
    el("h2", {}, title),
    comparison(task, stages),
    el("p", { class: "small" }, origin(task)),
    ["test", "dev"].filter((split) => task.figures[split]).map((split) => {
      const table = figuresTable(split, task.figures[split], task.queries[split], stages, title);
      return split === "test" ? table : el("details", { class: "numbers" },
        el("summary", {}, "Metrics on dev, by which it was selected"), table);
    }),
    weightBar(task.weights),
    task.figures.probability?.test && reliability(task.figures.probability.test),
    task.history.length > 1 && curves(task.history));
}

/** What serves, and what of it was learnt from this archive. @param {Task} task */
function origin({ labels, queries, seconds, encoder, pair, teacher }) {
  const from = LABELS[/** @type {keyof typeof LABELS} */ (labels)] ?? labels;
  const stock = encoder?.startsWith("sentence:") ? encoder.slice(9) : null;
  const learnt = [encoder && !stock ? encoderName(encoder, teacher) : "", pair ? "pair model" : ""].filter(Boolean).join(" and ");
  return [
    stock && `Encoder ${stock} as published, not trained on this archive`,
    learnt && from && `${learnt.charAt(0).toUpperCase()}${learnt.slice(1)} trained on ${from}`,
    learnt && queries.train ? plural(queries.train, "training question") : "",
    !encoder && !pair ? "Nothing that was trained gained on BM25" : "",
    seconds ? `training took ${duration(seconds)}` : "",
  ].filter(Boolean).join(" · ");
}

/** "questions/adapter" over minilm → "adapter of minilm’s vectors". @param {string} folder @param {Task["teacher"]} teacher */
function encoderName(folder, teacher) {
  const name = folder.split("/").pop() ?? folder;
  if (name.startsWith("adapter") && teacher) return `adapter of ${teacher.name}’s vectors`;
  return name === "encoder" ? name : `encoder ${name}`;
}

/** The weight of each stage. @param {Record<string, number>} weights */
function weightBar(weights) {
  const parts = Object.entries(weights).filter(([, weight]) => weight > 0);
  const all = parts.reduce((sum, [, weight]) => sum + weight, 0);
  if (parts.length < 2) return null;
  return el("div", { class: "mixture" },
    el("h3", {}, "Weight of each stage"),
    el("div", { class: "mixture-bar", "aria-hidden": "true" },
      parts.map(([name, weight]) => el("span", { class: `part part-${name}`, vars: { share: weight / all } }))),
    el("p", { class: "legend" }, parts.map(([name, weight]) => el("span", { class: `key key-${name}` },
      `${STAGES[/** @type {keyof typeof STAGES} */ (name)] ?? name} ${Math.round((100 * weight) / all)} %`))));
}
