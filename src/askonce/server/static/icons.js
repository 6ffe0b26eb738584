/** Icons in the colour of the surrounding text. */
import { svg } from "./dom.js";

const PATHS = {
  accepted: "M3 8.5l3.2 3.2L13 4.8",
  answers: "M2.5 3.5h11v7h-6l-3 2.7v-2.7h-2z",
  cross: "M4 4l8 8M12 4l-8 8",
  chevron: "M6 3.5L10.5 8 6 12.5",
  down: "M8 3v10M4 9l4 4 4-4",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a3 3 0 0 1 4.5 4L11.5 8.5M9 11.5L7.5 13A3 3 0 0 1 3 9L4.5 7.5",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3a5.3 5.3 0 1 0 6.6 6.6z",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.3 10.3l3.4 3.4",
  sun: "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1.2v1.4M8 13.4v1.4M1.2 8h1.4M13.4 8h1.4M3.2 3.2l1 1"
    + "M11.8 11.8l1 1M12.8 3.2l-1 1M4.2 11.8l-1 1",
  up: "M8 13V3M4 7l4-4 4 4",
  votes: "M3.5 10.5L8 5.5l4.5 5",
  warning: "M8 2.2l6.3 11.3H1.7zM8 6.5v3.2M8 11.6v.2",
};

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  return svg("svg", { class: `icon icon-${name}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { d: PATHS[name] }));
}
