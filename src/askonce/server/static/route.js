/** The URL holds what the page shows, so that it can be shared and the back button works. */

/**
 * @typedef {{ view: "ask" | "compare" | "archive" | "model", q: string, post: string | null,
 *   ranker: string, votes: boolean, left: string, right: string,
 *   of: "questions" | "answers" }} Route
 */

/** @type {Route} */
const HOME = {
  view: "ask", q: "", post: null, ranker: "best", votes: false, left: "bm25", right: "best",
  of: "questions",
};
const VIEWS = ["ask", "compare", "archive", "model"];

/** @type {(route: Route) => void} */
let changed = () => {};

/** The route of the current URL. @param {string} [search] @returns {Route} */
export function currentRoute(search = location.search) {
  const given = new URLSearchParams(search);
  /** @param {"q" | "ranker" | "left" | "right"} name */
  const text = (name) => given.get(name) || HOME[name];
  const view = given.get("view") ?? "";
  return {
    view: /** @type {Route["view"]} */ (VIEWS.includes(view) ? view : HOME.view),
    q: text("q").trim(),
    post: given.get("post"),
    ranker: text("ranker"),
    votes: given.get("votes") === "true",
    left: text("left"),
    right: text("right"),
    of: given.get("of") === "answers" ? "answers" : "questions",
  };
}

/** The URL of a route, without default values. @param {Partial<Route>} route */
export function address(route) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...HOME, ...route })) {
    if (value && value !== HOME[/** @type {keyof Route} */ (name)]) query.set(name, String(value));
  }
  return `?${query}`;
}

/** @param {Partial<Route>} route */
export function go(route) {
  const next = address(route);
  if (next !== (location.search || "?")) history.pushState(null, "", next);
  changed(currentRoute());
}

/** Call the listener now and whenever the URL changes. @param {(route: Route) => void} listener */
export function onRoute(listener) {
  changed = listener;
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
