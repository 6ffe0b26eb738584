/**
 * Askonce on any page: similar questions while one types, or a search box.
 *
 *   <script src="https://ask.example/widget.js" data-input="#title" async></script>
 *
 * data-input   a selector: an input or textarea to watch, or an element that gets a search box
 * data-key     the read key of this page's origin, if the server wants one
 * data-count   results to show (5)
 * data-label   name of the list ("Similar questions")
 *
 * Theme it by the CSS variables --askonce-text, -muted, -background, -border, -accent, -radius and
 * -font. It works under a strict content-security policy: allow this script's origin in script-src
 * and connect-src; there is no inline style or script. The events askonce:results (detail: hits) and
 * askonce:error (detail: message) are dispatched on the input. Pages that build an input later call
 * askonce.attach(element).
 */
(() => {
  "use strict";
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  if (!script) return;
  const base = new URL(".", script.src).href;
  const { input: selector = "[data-askonce]", key = "", count = "5", label = "Similar questions" } = script.dataset;
  const PAUSE = 250; // milliseconds without a key press
  const SHORTEST = 6; // characters
  let last = 0;

  const STYLE = `
.askonce-list { position: relative; z-index: 10; margin: .25rem 0 0; padding: .25rem; list-style: none; text-align: start;
  font: var(--askonce-font, inherit); color: var(--askonce-text, #1b1b1b); background: var(--askonce-background, #fff);
  border: 1px solid var(--askonce-border, #8a8a8a); border-radius: var(--askonce-radius, 6px); }
.askonce-list[hidden] { display: none; }
.askonce-head { padding: .25rem .5rem; font-size: .875em; color: var(--askonce-muted, #595959); }
.askonce-hit { display: block; padding: .375rem .5rem; border-radius: var(--askonce-radius, 6px); color: inherit; text-decoration: none; }
.askonce-hit:hover, .askonce-hit[aria-selected=true] { outline: 2px solid var(--askonce-accent, #0b57d0); outline-offset: -2px; }
.askonce-title { display: block; color: var(--askonce-accent, #0b57d0); text-decoration: underline; }
.askonce-facts { display: block; font-size: .875em; color: var(--askonce-muted, #595959); }
.askonce-search { display: flex; gap: .5rem; }
.askonce-search input { flex: 1; min-width: 0; padding: .5rem; font: var(--askonce-font, inherit); color: var(--askonce-text, #1b1b1b);
  background: var(--askonce-background, #fff); border: 1px solid var(--askonce-border, #8a8a8a); border-radius: var(--askonce-radius, 6px); }
.askonce-unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }`;

  /** @param {string} tag @param {Record<string, string>} [attributes] @param {...(Node | string | null | false)} children */
  const el = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children.filter(Boolean).map((child) => /** @type {Node | string} */ (child)));
    return element;
  };

  /** Adopted style sheets are not inline styles, so that no policy refuses them. */
  const addStyle = () => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  };

  /** @param {any} hit */
  const addressOf = (hit) => {
    const own = `${base}?post=${encodeURIComponent(hit.id)}`;
    return /^https?:\/\//.test(hit.url || "") ? hit.url : own;
  };

  /** @param {any} hit */
  const factsOf = (hit) => [
    hit.accepted ? "solved" : hit.answers ? `${hit.answers} answer${hit.answers === 1 ? "" : "s"}` : "no answers yet",
    hit.duplicate_probability > 0.5 && `${Math.min(99, Math.round(hit.duplicate_probability * 100))} % the same question`,
    [[hit.author, hit.site].filter(Boolean).join(" on "), hit.licence].filter(Boolean).join(", "),
  ].filter(Boolean).join(" · ");

  /** @param {string} title @param {AbortSignal} signal */
  const ask = async (title, signal) => {
    const response = await fetch(`${base}api/duplicates`, {
      method: "POST",
      mode: "cors",
      credentials: "omit",
      headers: { "Content-Type": "application/json", ...(key && { Authorization: `Bearer ${key}` }) },
      body: JSON.stringify({ title: title.slice(0, 8000), k: Number(count) || 5 }),
      signal,
    });
    const body = await response.json();
    if (!response.ok) throw new Error(body?.error?.message || `status ${response.status}`);
    return body.similar;
  };

  /** Watch one input. @param {HTMLInputElement | HTMLTextAreaElement} input */
  const attach = (input) => {
    last += 1;
    const id = `askonce-${last}`;
    const list = el("ul", { class: "askonce-list", id, role: "listbox", "aria-label": label, hidden: "" });
    const status = el("div", { class: "askonce-unseen", role: "status" });
    /** @type {any[]} */
    let hits = [];
    let chosen = -1;
    let timer = 0;
    let asked = "";
    /** @type {AbortController | null} */
    let running = null;

    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", id);
    input.setAttribute("aria-expanded", "false");
    input.setAttribute("autocomplete", "off");
    (input.closest(".askonce-search") || input).after(list, status);

    const options = () => [...list.querySelectorAll(".askonce-hit")];

    /** @param {number} index */
    const choose = (index) => {
      chosen = index;
      options().forEach((option, n) => option.setAttribute("aria-selected", String(n === index)));
      if (index < 0) input.removeAttribute("aria-activedescendant");
      else input.setAttribute("aria-activedescendant", `${id}-${index}`);
    };

    /** Whether an arrow moves between the lines of a textarea. @param {string} pressed */
    const isBetweenLines = (pressed) => input instanceof HTMLTextAreaElement
      && (pressed === "ArrowUp" || (input.selectionEnd ?? 0) < input.value.length);

    const open = () => {
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
    };

    const close = () => {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      choose(-1);
    };

    const show = () => {
      list.replaceChildren(
        el("li", { class: "askonce-head", role: "presentation" }, label),
        ...hits.map((hit, n) => el("li", { role: "presentation" },
          el("a", { class: "askonce-hit", role: "option", id: `${id}-${n}`, "aria-selected": "false",
            href: addressOf(hit), target: "_blank", rel: "noopener", tabindex: "-1" },
          el("span", { class: "askonce-title" }, hit.title || hit.excerpt || "Untitled question"),
          el("span", { class: "askonce-facts" }, factsOf(hit))))));
      close();
      if (hits.length) open();
      status.textContent = hits.length
        ? `${hits.length} similar question${hits.length === 1 ? "" : "s"}. Use the down arrow to read them.`
        : "No similar questions.";
    };

    /** @param {string} text */
    const search = async (text) => {
      running?.abort();
      running = new AbortController();
      try {
        hits = await ask(text, running.signal);
        show();
        input.dispatchEvent(new CustomEvent("askonce:results", { bubbles: true, detail: hits }));
      } catch (error) {
        const { name, message } = /** @type {Error} */ (error);
        if (name === "AbortError") return;
        hits = [];
        asked = ""; // so that the same text is tried again
        close(); // the page works without us
        input.dispatchEvent(new CustomEvent("askonce:error", { bubbles: true, detail: message }));
      }
    };

    input.addEventListener("input", () => {
      clearTimeout(timer);
      const text = input.value.trim();
      if (text.length < SHORTEST) {
        running?.abort();
        hits = [];
        asked = "";
        close();
        return;
      }
      timer = window.setTimeout(() => {
        if (text !== asked) search((asked = text));
      }, PAUSE);
    });
    input.addEventListener("keydown", (event) => {
      const { key: pressed } = /** @type {KeyboardEvent} */ (event);
      const step = { ArrowDown: 1, ArrowUp: -1 }[pressed];
      if (step && chosen < 0 && isBetweenLines(pressed)) return;
      if (list.hidden && pressed === "ArrowDown" && hits.length) open();
      if (list.hidden) return;
      if (step) {
        const size = hits.length + 1; // one place is the input itself
        choose(((chosen + 1 + step + size) % size) - 1);
        event.preventDefault();
      } else if (pressed === "Enter" && chosen >= 0) {
        /** @type {HTMLAnchorElement} */ (options()[chosen]).click();
        event.preventDefault();
      } else if (pressed === "Escape") {
        close();
        event.preventDefault();
      }
    });
    document.addEventListener("click", (event) => {
      const target = /** @type {Node} */ (event.target);
      if (target !== input && !list.contains(target)) close();
    });
  };

  /** A search box for documentation sites. @param {Element} container */
  const searchBox = (container) => {
    const name = container.getAttribute("aria-label") || "Search questions";
    const input = /** @type {HTMLInputElement} */ (el("input", { type: "search", name: "q", "aria-label": name, placeholder: name }));
    const form = /** @type {HTMLFormElement} */ (el("form", { class: "askonce-search", role: "search" }, input));
    form.addEventListener("submit", (event) => {
      event.preventDefault(); // a strict form-action would refuse another origin
      window.open(`${base}?q=${encodeURIComponent(input.value)}`, "_blank", "noopener");
    });
    container.append(form);
    attach(input);
  };

  const known = new WeakSet();
  /** @param {Element} element */
  const attachTo = (element) => {
    if (known.has(element)) return;
    known.add(element);
    if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) attach(element);
    else searchBox(element);
  };

  const start = () => {
    addStyle();
    document.querySelectorAll(selector).forEach(attachTo);
    Object.assign(window, { askonce: { attach: attachTo } });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
