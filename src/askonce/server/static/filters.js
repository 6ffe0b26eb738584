/** Filters and order of the results: tag, dates, answered, sorting. */
import { el, freshId } from "./dom.js";
import { currentRoute, go } from "./route.js";

/** @typedef {import("./route.js").Route} Route */

const SORTS = { relevance: "Best match", newest: "Newest first", votes: "Most votes" };
const ANSWERED = { "": "Any", true: "With answers", false: "Without answers" };

/** @returns {{ part: HTMLElement, show: (route: Route) => void }} */
export function filterChoice() {
  const tag = field("Tag", "text", "tag");
  const after = field("From", "date", "after");
  const before = field("Until", "date", "before");
  const answered = choice("Answers", ANSWERED, "answered");
  const sort = choice("Sort by", SORTS, "sort");
  const clear = el("button", { type: "button", class: "quiet clear", on: { click: reset } }, "Clear filters");
  const summary = el("summary", {}, "Filter and sort");
  const part = el("details", { class: "filters" }, summary,
    el("div", { class: "filter-fields" }, [tag, after, before, answered, sort].map(({ part: one }) => one), clear));

  function reset() {
    go({ ...currentRoute(), tag: "", after: "", before: "", answered: "", sort: "relevance", page: 1 });
    summary.focus();
  }

  /** @param {Route} route */
  function show(route) {
    for (const one of [tag, after, before, answered, sort]) one.show(route);
    const active = [route.tag, route.after, route.before, route.answered].filter(Boolean).length;
    const changed = active > 0 || route.sort !== "relevance";
    clear.hidden = !changed;
    summary.textContent = active ? `Filter and sort (${active} active)` : "Filter and sort";
    if (changed) /** @type {HTMLDetailsElement} */ (part).open = true;
  }
  return { part, show };
}

/** @param {string} label @param {"text" | "date"} type @param {"tag" | "after" | "before"} name */
function field(label, type, name) {
  const id = freshId();
  const input = /** @type {HTMLInputElement} */ (el("input", { id, type, name, maxlength: 100,
    on: { change: () => go({ ...currentRoute(), [name]: input.value.trim(), page: 1 }) } }));
  return {
    part: el("span", { class: "choice" }, el("label", { for: id }, label), input),
    /** @param {Route} route */
    show: (route) => { input.value = route[name]; },
  };
}

/** @param {string} label @param {Record<string, string>} options @param {"answered" | "sort"} name */
function choice(label, options, name) {
  const id = freshId();
  const select = /** @type {HTMLSelectElement} */ (el("select", { id, name,
    on: { change: () => go({ ...currentRoute(), [name]: select.value, page: 1 }) } },
  Object.entries(options).map(([value, text]) => el("option", { value }, text))));
  return {
    part: el("span", { class: "choice" }, el("label", { for: id }, label), select),
    /** @param {Route} route */
    show: (route) => { select.value = route[name]; },
  };
}
