/** How far probabilities can be trusted: predicted against observed, on test. */
import { el, svg } from "./dom.js";
import { decimal } from "./format.js";

const SIZE = 220;
const LEFT = 46;
const BOTTOM = 40;
const TOP = 10;
const BIN = "true at ";

/** @param {Record<string, number>} quality */
export function reliability(quality) {
  const points = Object.entries(quality).filter(([name]) => name.startsWith(BIN))
    .map(([name, value]) => ({ predicted: Number(name.slice(BIN.length)) + 0.05, observed: value }));
  if (!points.length) return null;
  const caption = `Brier score ${decimal(quality.Brier, 3)} (${decimal(quality["Brier of the prior"], 3)} for a constant), `
    + `calibration error ${decimal(quality.ECE, 3)}`;
  return el("figure", { class: "chart reliability" },
    el("figcaption", {}, "Reliability of “the same question” on test"), drawing(points),
    el("p", { class: "small" }, caption),
    el("details", { class: "numbers" }, el("summary", {}, "Show data"),
      el("table", {}, el("thead", {}, el("tr", {}, ["Predicted", "Observed"].map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", {}, points.map(({ predicted, observed }) => el("tr", {},
          el("th", { scope: "row" }, `${decimal(predicted - 0.05, 1)} to ${decimal(predicted + 0.05, 1)}`),
          el("td", { class: "number" }, decimal(observed, 2))))))));
}

/** @param {{ predicted: number, observed: number }[]} points */
function drawing(points) {
  const x = (/** @type {number} */ value) => LEFT + value * (SIZE - LEFT - 10);
  const y = (/** @type {number} */ value) => TOP + (1 - value) * (SIZE - TOP - BOTTOM);
  const ticks = [0, 0.5, 1];
  return svg("svg", { class: "drawing", role: "img", width: SIZE, height: SIZE, viewBox: `0 0 ${SIZE} ${SIZE}`,
    "aria-label": `Observed share by predicted probability: ${points.map(({ predicted, observed }) =>
      `${decimal(predicted, 2)}: ${decimal(observed, 2)}`).join(", ")}` },
  ticks.map((value) => [
    svg("line", { class: "grid", x1: x(0), x2: x(1), y1: y(value), y2: y(value) }),
    svg("text", { class: "tick tick-y", x: LEFT - 8, y: y(value) + 4 }, String(value)),
    svg("text", { class: "tick", x: x(value), y: y(0) + 15, "text-anchor": "middle" }, String(value)),
  ]),
  svg("line", { class: "grid ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
  svg("path", { class: "line line-one", d: points.map(({ predicted, observed }, n) =>
    `${n ? "L" : "M"}${x(predicted).toFixed(1)} ${y(observed).toFixed(1)}`).join("") }),
  points.map(({ predicted, observed }) => svg("circle", { class: "best best-one", cx: x(predicted), cy: y(observed), r: 4 })),
  svg("text", { class: "tick", x: x(0.5), y: SIZE - 6, "text-anchor": "middle" }, "predicted probability"),
  svg("text", { class: "tick", x: 12, y: y(0.5), "text-anchor": "middle", transform: `rotate(-90 12 ${y(0.5)})` }, "observed share"));
}
