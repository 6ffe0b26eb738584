// A classic script: it runs before the page is painted. theme-switch.js is its other half.
"use strict";
(() => {
  const wishesDark = matchMedia("(prefers-color-scheme: dark)");

  /** @returns {string | null} what the reader chose; null to follow the system */
  function chosen() {
    try {
      return localStorage.getItem("askonce-theme");
    } catch {
      return null; // storage is switched off
    }
  }

  function apply() {
    document.documentElement.dataset.theme = chosen() ?? (wishesDark.matches ? "dark" : "light");
  }

  apply();
  wishesDark.addEventListener("change", apply);
})();
