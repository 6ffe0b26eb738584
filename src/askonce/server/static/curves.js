/** The curves of a training. */
import { lineChart } from "./charts.js";
import { el } from "./dom.js";
import { decimal } from "./format.js";

/** @typedef {{ epoch: number, loss: number, dev: Record<string, number> }} Epoch */

/** @param {Epoch[]} history */
export function curves(history) {
  const metric = "MAP" in history[0].dev ? "MAP" : Object.keys(history[0].dev)[0];
  const values = history.map(({ dev }) => dev[metric]);
  const labels = history.map(({ epoch }) => String(epoch));
  return el("div", { class: "curves" },
    lineChart({ title: `Dev ${metric} by epoch`, labels, best: values.indexOf(Math.max(...values)),
      series: [{ name: metric, tone: "one", values }], format: (v) => decimal(v, 3),
      say: (n) => `Epoch ${labels[n]}: ${metric} ${decimal(values[n], 3)}` }),
    lineChart({ title: "Training loss by epoch", labels,
      series: [{ name: "loss", tone: "two", values: history.map(({ loss }) => loss) }],
      format: (v) => decimal(v, 3), say: (n) => `Epoch ${labels[n]}: loss ${decimal(history[n].loss, 3)}` }));
}
