/** Small line charts as SVG, redrawn when their width changes. */
import { el, svg } from "./dom.js";

/**
 * @typedef {{ name: string, tone: "one" | "two", values: (number | null)[] }} Series
 * @typedef {{ title: string, labels: string[], series: Series[], format: (value: number) => string,
 *   height?: number, fromZero?: boolean, whole?: boolean, best?: number, axis?: string, say?: (n: number) => string }} Chart
 *   a value of null is a gap; `labels` are the ticks of the horizontal axis, `best` is the tick to highlight, `say` describes
 *   the values at a tick
 */

const HEIGHT = 180;
const LEFT = 44;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 24;
const AXIS = 16; // more, for the name of the axis
const LABEL_WIDTH = 72;

/** @param {Chart} chart */
export function lineChart(chart) {
  const container = el("div", { class: "chart-place", vars: { height: `${chart.height ?? HEIGHT}px` } });
  const readout = el("p", { class: "readout small", "aria-hidden": "true" });
  const draw = () => container.replaceChildren(drawing(chart, Math.max(220, container.clientWidth), readout));
  new ResizeObserver(draw).observe(container);
  readout.textContent = say(chart, chart.labels.length - 1);
  return el("figure", { class: "chart" },
    el("figcaption", {}, el("span", {}, chart.title), chart.series.length > 1 && legend(chart.series)),
    container, readout, dataTable(chart));
}

/** @param {Series[]} series */
function legend(series) {
  return el("span", { class: "legend" }, series.map(({ name, tone }) =>
    el("span", { class: `key key-${tone}` }, name)));
}

/** The data as a table, for screen readers and for exact values. @param {Chart} chart */
function dataTable({ labels, series, format }) {
  return el("details", { class: "numbers" }, el("summary", {}, "Show data"),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Chart data" },
      el("table", {},
        el("thead", {}, el("tr", {}, ["", ...series.map(({ name }) => name)].map((name) =>
          el("th", { scope: "col" }, name)))),
        el("tbody", {}, labels.map((label, n) => el("tr", {}, el("th", { scope: "row" }, label),
          series.map(({ values }) => el("td", { class: "number" }, written(values[n], format)))))))));
}

/** @param {Chart} chart @param {number} width @param {HTMLElement} readout */
function drawing(chart, width, readout) {
  const { labels, series, format, best, axis: axisName, height = HEIGHT } = chart;
  const bottom = axisName ? BOTTOM + AXIS : BOTTOM;
  const axis = ticks(series.flatMap(({ values }) => values.filter((value) => value !== null)), chart.fromZero ?? false, chart.whole ?? false);
  const low = axis[0];
  const high = axis[axis.length - 1];
  const step = (width - LEFT - RIGHT) / Math.max(1, labels.length - 1);
  const x = (/** @type {number} */ n) => LEFT + n * step;
  const y = (/** @type {number} */ value) =>
    TOP + (height - TOP - bottom) * (1 - (value - low) / (high - low || 1));
  const cursor = svg("line", { class: "cursor", y1: TOP, y2: height - bottom, x1: -9, x2: -9 });
  const picture = svg("svg", { class: "drawing", role: "img", width, height,
    viewBox: `0 0 ${width} ${height}`, "aria-label": `${chart.title}. ${say(chart, labels.length - 1)}`, on: { pointermove: point } },
  axis.map((value) => [
    svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
    svg("text", { class: "tick tick-y", x: LEFT - 8, y: y(value) + 4 }, format(value)),
  ]),
  labelled(labels.length, width).map((n) =>
    svg("text", { class: "tick", x: x(n), y: height - bottom + 18, "text-anchor": anchor(n, labels.length) }, labels[n])),
  series.map(({ tone, values }) => svg("path", { class: `line line-${tone}`, d: path(values, x, y) })),
  best === undefined ? null : series.map(({ tone, values }) =>
    svg("circle", { class: `best best-${tone}`, cx: x(best), cy: y(values[best] ?? 0), r: 4 })),
  axisName ? svg("text", { class: "tick", x: LEFT + (width - LEFT - RIGHT) / 2, y: height - 3, "text-anchor": "middle" }, axisName) : null,
  cursor);

  /** @param {PointerEvent} event */
  function point(event) {
    const at = event.clientX - picture.getBoundingClientRect().left;
    const n = Math.min(labels.length - 1, Math.max(0, Math.round((at - LEFT) / step)));
    cursor.setAttribute("x1", String(x(n)));
    cursor.setAttribute("x2", String(x(n)));
    readout.textContent = say(chart, n);
  }
  return picture;
}

/** @param {Chart} chart @param {number} n */
function say({ labels, series, format, say: words }, n) {
  return words ? words(n)
    : `${labels[n]}: ${series.map(({ name, values }) => `${name} ${written(values[n], format)}`).join(", ")}`;
}

/** @param {number | null} value @param {(value: number) => string} format */
const written = (value, format) => (value === null ? "–" : format(value));

/** @param {(number | null)[]} values @param {(n: number) => number} x @param {(v: number) => number} y */
function path(values, x, y) {
  return values.map((value, n) => {
    if (value === null) return "";
    const before = n > 0 && values[n - 1] !== null;
    const alone = !before && (values[n + 1] ?? null) === null;
    if (alone) return `M${(x(n) - 3).toFixed(1)} ${y(value).toFixed(1)}h6`; // a single point
    return `${before ? "L" : "M"}${x(n).toFixed(1)} ${y(value).toFixed(1)}`;
  }).join("");
}

/**
 * Round values that cover the range.
 * @param {number[]} values @param {boolean} fromZero @param {boolean} whole  no fractions between them
 */
function ticks(values, fromZero, whole) {
  const low = fromZero ? 0 : Math.min(...values);
  const high = Math.max(...values);
  const rough = (high - low || Math.abs(high) || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const fine = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const step = whole ? Math.ceil(fine) : fine;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, n) => (first + n) * step);
}

/** The ticks whose labels fit. @param {number} n @param {number} width */
function labelled(n, width) {
  const room = Math.max(2, Math.floor((width - LEFT - RIGHT) / LABEL_WIDTH));
  if (n <= room) return Array.from({ length: n }, (_, k) => k);
  return Array.from({ length: room }, (_, k) => Math.round((k * (n - 1)) / (room - 1)));
}

/** @param {number} n @param {number} all */
const anchor = (n, all) => (n === 0 && all > 1 ? "start" : n === all - 1 && all > 1 ? "end" : "middle");
