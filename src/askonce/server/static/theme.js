// A classic script, so that it runs before the first paint. app.js has the button that sets the theme.
"use strict";
(() => {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");

  /** @returns {string | null} the chosen theme; null to follow the system */
  function chosen() {
    try {
      return localStorage.getItem("askonce-theme");
    } catch {
      return null; // storage is disabled
    }
  }

  function apply() {
    document.documentElement.dataset.theme = chosen() ?? (prefersDark.matches ? "dark" : "light");
  }

  apply();
  prefersDark.addEventListener("change", apply);
})();
