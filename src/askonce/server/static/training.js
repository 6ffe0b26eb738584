/** The curves of a training, and the progress of a running `askonce train`. */
import { lineChart } from "./charts.js";
import { el } from "./dom.js";
import { decimal } from "./format.js";

const TASKS = { questions: "Similar questions", answers: "Answers" };

/**
 * @typedef {{ epoch: number, loss: number, dev: Record<string, number> }} Epoch
 * @typedef {{ share: number, text?: string, task?: keyof typeof TASKS, epoch?: number,
 *   done?: number, of?: number, loss?: number, history: Epoch[] }} Training
 *   `share` of the time limit; `done` and `of` count steps within an epoch
 */

/** @param {Epoch[]} history */
export function curves(history) {
  const metric = "MAP" in history[0].dev ? "MAP" : Object.keys(history[0].dev)[0];
  const values = history.map(({ dev }) => dev[metric]);
  const labels = history.map(({ epoch }) => String(epoch));
  return el("div", { class: "curves" },
    lineChart({ title: `Dev ${metric} by epoch`, axis: "epoch", labels, best: values.indexOf(Math.max(...values)),
      series: [{ name: metric, tone: "one", values }], format: (v) => decimal(v, 3),
      say: (n) => `Epoch ${labels[n]}: ${metric} ${decimal(values[n], 3)}` }),
    lineChart({ title: "Training loss by epoch", axis: "epoch", labels,
      series: [{ name: "loss", tone: "two", values: history.map(({ loss }) => loss) }],
      format: (v) => decimal(v, 3), say: (n) => `Epoch ${labels[n]}: loss ${decimal(history[n].loss, 3)}` }));
}

/** @param {Training} training */
export function trainingPart(training) {
  return el("section", { class: "card training", "aria-label": "Training" },
    el("h2", {}, "Training in progress"),
    el("progress", { max: 1, value: training.share, "aria-label": "Share of the time limit" }),
    el("p", { class: "small" }, progressText(training)),
    training.history.length > 1 && curves(training.history));
}

/** @param {Training} training */
function progressText({ task, text, epoch, done, of, loss }) {
  return [
    task && (TASKS[task] ?? task),
    text,
    epoch && `epoch ${epoch}`,
    of && `${done} of ${of}`,
    loss !== undefined && `loss ${decimal(loss, 3)}`,
  ].filter(Boolean).join(" · ");
}
