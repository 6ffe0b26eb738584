/** Where the page begins: the address chooses a view. */
import { archiveView } from "./archive-view.js";
import { askView } from "./ask-view.js";
import { compareView } from "./compare-view.js";
import { modelView } from "./model-view.js";
import { onRoute } from "./route.js";
import { watchStatus } from "./status.js";
import { themeSwitch } from "./theme-switch.js";

/**
 * A view builds its fixed parts below the root and returns what shows a route in them; the signal
 * ends with the view.
 * @typedef {(root: HTMLElement, signal: AbortSignal) => (route: Route) => void} View
 * @typedef {import("./route.js").Route} Route
 */

/** @type {Record<Route["view"], View>} */
const VIEWS = { ask: askView, compare: compareView, archive: archiveView, model: modelView };

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
/** @type {{ name: string, show: (route: Route) => void, end: AbortController } | null} */
let open = null;

/** @param {Route} route */
function show(route) {
  if (open?.name !== route.view) {
    const first = open === null;
    open?.end.abort();
    main.replaceChildren();
    main.className = `view-${route.view}`;
    const end = new AbortController();
    open = { name: route.view, show: VIEWS[route.view](main, end.signal), end };
    if (!first) { main.focus({ preventScroll: true }); scrollTo(0, 0); }
  }
  markPlace(route.view);
  open.show(route);
}

/** @param {string} view */
function markPlace(view) {
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.getAttribute("data-view") === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

themeSwitch(/** @type {HTMLButtonElement} */ (document.getElementById("theme")));
watchStatus(/** @type {HTMLElement} */ (document.getElementById("status")));
onRoute(show);
