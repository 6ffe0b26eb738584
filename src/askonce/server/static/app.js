/** Entry point: shows the view that the URL names. */
import { archiveView } from "./archive-view.js";
import { askView } from "./ask-view.js";
import { compareView } from "./compare-view.js";
import { el } from "./dom.js";
import { icon } from "./icons.js";
import { insightsView } from "./insights-view.js";
import { modelView } from "./model-view.js";
import { moderationView } from "./moderation-view.js";
import { pageOptions } from "./page-options.js";
import { onRoute } from "./route.js";
import { watchStatus } from "./status.js";

/**
 * A view builds its fixed parts in the root and returns a function that shows a route; the signal
 * aborts when the view is closed.
 * @typedef {(root: HTMLElement, signal: AbortSignal) => (route: Route) => void} View
 * @typedef {import("./route.js").Route} Route
 */

/** @type {Record<Route["view"], View>} */
const VIEWS = {
  ask: askView, compare: compareView, archive: archiveView, moderate: moderationView,
  insights: insightsView, model: modelView,
};

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
  markView(route.view);
  open.show(route);
}

/** @param {string} view */
function markView(view) {
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.getAttribute("data-view") === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Switch between light and dark, and remember the choice. @param {HTMLButtonElement} button */
function themeSwitch(button) {
  const root = document.documentElement;

  function label() {
    const other = root.dataset.theme === "dark" ? "light" : "dark";
    button.title = `Switch to ${other} theme`;
    button.setAttribute("aria-label", button.title);
    button.replaceChildren(icon(other === "dark" ? "moon" : "sun"));
  }

  button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("askonce-theme", root.dataset.theme);
    } catch {
      // storage is disabled: the choice lasts until the page is closed
    }
  });
  // theme.js also changes the theme when the system does
  new MutationObserver(label).observe(root, { attributeFilter: ["data-theme"] });
  label();
}

pageOptions().then(({ one_of_several: several }) => {
  if (several) document.querySelector(".places")?.prepend(el("a", { href: "../" }, "All archives"));
});
themeSwitch(/** @type {HTMLButtonElement} */ (document.getElementById("theme")));
const statusLine = /** @type {HTMLElement} */ (document.getElementById("status"));
watchStatus(statusLine);
addEventListener("unreachable", () => { watchStatus(statusLine); });
onRoute(show);
