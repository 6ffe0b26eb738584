/** How well what serves does on the feedback of visitors, week by week. */
import { lineChart } from "./charts.js";
import { el } from "./dom.js";
import { count, decimal, plural } from "./format.js";

/**
 * @typedef {{ week: string, models: string[], marks: number, right: number, wrong: number,
 *   mrr: number | null, false_claims: number }} Week
 */

/** @param {Week[]} weeks */
export function feedbackPart(weeks) {
  const total = weeks.reduce((sum, { marks }) => sum + marks, 0);
  return el("section", { class: "card feedback-report", "aria-label": "Feedback" },
    el("h2", {}, "Feedback of visitors"),
    el("p", { class: "small" }, total
      ? `${plural(total, "mark")} in ${plural(weeks.length, "week")}. They enter the next training as labels.`
      : "None yet. Visitors mark results on the Ask page; the marks enter the next training as labels."),
    total > 0 && charts(weeks));
}

/** @param {Week[]} weeks */
function charts(weeks) {
  const labels = weeks.map(({ week }) => week);
  const ranked = weeks.filter(({ mrr }) => mrr !== null);
  return el("div", { class: "curves" },
    lineChart({ title: "Marks by week", labels, fromZero: true, whole: true, format: count,
      series: [
        { name: "Right", tone: "one", values: weeks.map(({ right }) => right) },
        { name: "Not a duplicate", tone: "two", values: weeks.map(({ wrong }) => wrong) },
      ],
      say: (n) => `Week of ${labels[n]}, ${weeks[n].models.join(", ")}: ${count(weeks[n].right)} right, `
        + `${count(weeks[n].wrong)} not a duplicate, of which ${count(weeks[n].false_claims)} claimed the same` }),
    ranked.length > 0 && lineChart({ title: "Mean reciprocal rank of results marked as right",
      labels: ranked.map(({ week }) => week), fromZero: true, format: (v) => decimal(v, 2),
      series: [{ name: "MRR", tone: "one", values: ranked.map(({ mrr }) => mrr ?? 0) }],
      say: (n) => `Week of ${ranked[n].week}, ${ranked[n].models.join(", ")}: MRR ${decimal(ranked[n].mrr ?? 0, 3)}` }));
}
