/** The button that changes between light and dark, and remembers it. */
import { icon } from "./icons.js";

/** @param {HTMLButtonElement} button */
export function themeSwitch(button) {
  const page = document.documentElement;

  function label() {
    const other = page.dataset.theme === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to ${other} colours`);
    button.title = `Switch to ${other} colours`;
    button.replaceChildren(icon(other === "dark" ? "moon" : "sun"));
  }

  button.addEventListener("click", () => {
    page.dataset.theme = page.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("askonce-theme", page.dataset.theme);
    } catch {
      // storage is switched off: the choice lasts as long as the page
    }
  });
  // the system's own change of theme reaches the page without the button
  new MutationObserver(label).observe(page, { attributeFilter: ["data-theme"] });
  label();
}
