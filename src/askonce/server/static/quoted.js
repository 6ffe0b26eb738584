/** The HTML of a post, shown as a quotation: the server has sanitised it, and nothing is loaded. */
import { el } from "./dom.js";
import { markWithin } from "./words.js";

/**
 * @param {string} html  sanitised by the server
 * @param {string} text  shown where there is no HTML
 * @param {string[]} [words]  to mark
 */
export function quoted(html, text, words = []) {
  const container = el("div", { class: "quoted" });
  if (html) {
    // parsed in a document of its own, where no picture loads and no script runs
    const parsed = new DOMParser().parseFromString(html, "text/html");
    parsed.querySelectorAll("img").forEach((image) => image.replaceWith(pictureLink(image)));
    parsed.querySelectorAll("a[href]").forEach(leaveSafely);
    container.append(...parsed.body.childNodes);
  } else {
    container.append(...text.split(/\n{2,}/).map((paragraph) => el("p", {}, paragraph)));
  }
  markWithin(container, words);
  return container;
}

/** Pictures of other sites are linked: a reader is not reported to them. @param {HTMLImageElement} image */
function pictureLink(image) {
  return el("a", { href: image.getAttribute("src") ?? "", class: "picture" },
    `Picture${image.alt ? `: ${image.alt}` : ""}`);
}

/** @param {Element} link */
function leaveSafely(link) {
  link.setAttribute("rel", "nofollow noopener noreferrer");
  link.setAttribute("target", "_blank");
}
