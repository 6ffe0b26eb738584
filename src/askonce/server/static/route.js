/** The URL holds what the page shows, so that it can be shared and the back button works. */

/**
 * @typedef {{ view: "ask" | "compare" | "archive" | "moderate" | "insights" | "model", q: string, post: string | null,
 *   ranker: string, votes: boolean, left: string, right: string,
 *   of: "questions" | "answers", tag: string, after: string, before: string,
 *   answered: string, sort: string, page: number, least: string }} Route
 */

/** @type {Route} */
const HOME = {
  view: "ask", q: "", post: null, ranker: "best", votes: true, left: "bm25", right: "best",
  of: "questions", tag: "", after: "", before: "", answered: "", sort: "relevance", page: 1,
  least: "0.5",
};
const VIEWS = ["ask", "compare", "archive", "moderate", "insights", "model"];

/** @type {(route: Route) => void} */
let changed = () => {};

/** The route of the current URL. @param {string} [search] @returns {Route} */
export function currentRoute(search = location.search) {
  const given = new URLSearchParams(search);
  /** @param {"q" | "ranker" | "left" | "right" | "tag" | "after" | "before" | "answered" | "sort" | "least"} name */
  const text = (name) => given.get(name) || HOME[name];
  const view = given.get("view") ?? "";
  return {
    view: /** @type {Route["view"]} */ (VIEWS.includes(view) ? view : HOME.view),
    q: text("q").trim(),
    post: given.get("post"),
    ranker: text("ranker"),
    votes: given.get("votes") !== "false",
    left: text("left"),
    right: text("right"),
    of: given.get("of") === "answers" ? "answers" : "questions",
    tag: text("tag"), after: text("after"), before: text("before"),
    answered: ["true", "false"].includes(text("answered")) ? text("answered") : "",
    sort: text("sort"), page: Math.max(1, Math.min(40, Number.parseInt(given.get("page") ?? "1", 10) || 1)),
    least: ["0.3", "0.5", "0.7", "0.9"].includes(text("least")) ? text("least") : HOME.least,
  };
}

/** The URL of a route, without default values. @param {Partial<Route>} route */
export function address(route) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...HOME, ...route })) {
    if (value !== null && value !== "" && value !== HOME[/** @type {keyof Route} */ (name)]) query.set(name, String(value));
  }
  return `?${query}`;
}

/** @param {Partial<Route>} route */
export function go(route) {
  const next = address(route);
  if (next !== (location.search || "?")) {
    remember();
    const { view, q, post } = currentRoute();
    history.pushState({ results: view === "ask" && !post && q !== "" && q === route.q }, "", next);
  }
  changed(currentRoute());
}

/** Keep where the reader is, for the way back. */
function remember() {
  const hit = document.activeElement?.closest("[data-id]")?.getAttribute("data-id") ?? null;
  history.replaceState({ ...history.state, scroll: scrollY, hit }, "");
}

/** After going back: scroll to where the reader was, and focus the result that was opened. */
export function restorePosition() {
  const { scroll, hit } = history.state ?? {};
  if (scroll === undefined) return;
  const opened = hit && document.querySelector(`[data-id="${CSS.escape(hit)}"] :is(button, a)`);
  if (opened instanceof HTMLElement) opened.focus({ preventScroll: true });
  scrollTo(0, scroll);
}

/** Call the listener now and whenever the URL changes. @param {(route: Route) => void} listener */
export function onRoute(listener) {
  changed = listener;
  history.scrollRestoration = "manual"; // results load after the way back
  addEventListener("popstate", () => listener(currentRoute()));
  document.addEventListener("click", follow);
  listener(currentRoute());
}

/** Follow links within the page without reloading it. @param {MouseEvent} event */
function follow(event) {
  const link = event.target instanceof Element ? event.target.closest("a[data-route]") : null;
  const plain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  if (!link || !plain || event.defaultPrevented) return;
  event.preventDefault();
  go(currentRoute(new URL(/** @type {HTMLAnchorElement} */ (link).href).search));
}
