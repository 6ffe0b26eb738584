/** How far a running `askonce train` has come. */
import { curves } from "./curves.js";
import { el } from "./dom.js";
import { decimal } from "./format.js";

const TASKS = { questions: "Similar questions", answers: "Answers" };

/**
 * @typedef {{ share: number, text?: string, task?: keyof typeof TASKS, epoch?: number,
 *   done?: number, of?: number, loss?: number, history: import("./curves.js").Epoch[] }} Training
 *   `share` is that of the time it may take, `done` and `of` are within an epoch
 */

/** @param {Training} training */
export function trainingPart(training) {
  return el("section", { class: "card training", "aria-label": "Training" },
    el("h2", {}, "A model is being trained"),
    el("progress", { max: 1, value: training.share, "aria-label": "Share of the time it may take" }),
    el("p", { class: "small" }, progressWords(training)),
    training.history.length > 1 && curves(training.history));
}

/** @param {Training} training */
function progressWords({ task, text, epoch, done, of, loss }) {
  return [
    task && (TASKS[task] ?? task),
    text,
    epoch && `epoch ${epoch}`,
    of && `${done} of ${of}`,
    loss !== undefined && `loss ${decimal(loss, 3)}`,
  ].filter(Boolean).join(" · ");
}
