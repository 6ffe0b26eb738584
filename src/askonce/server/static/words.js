/** Texts of posts, with the words that matter highlighted. */
import { el } from "./dom.js";
import { pageOptions } from "./page-options.js";

/**
 * @param {string} text
 * @param {string[]} words  in lower case
 * @returns {(Node | string)[]} the text with those words highlighted
 */
export function marked(text, words) {
  const pattern = anyOf(words);
  if (!pattern) return [text];
  return text.split(pattern).map((piece, n) => (n % 2 ? el("mark", {}, piece) : piece));
}

/** Highlight words in all text of an element. @param {Element} root @param {string[]} words */
function markWithin(root, words) {
  if (!words.length) return;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  for (const text of texts) text.replaceWith(...marked(text.data, words));
}

/** @param {string[]} words  @returns {RegExp | null} one group, so that split() keeps the matches */
function anyOf(words) {
  if (!words.length) return null;
  const longestFirst = [...words].sort((a, b) => b.length - a.length);
  const escaped = longestFirst.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  return new RegExp(`(?<![\\p{L}\\p{N}])(${escaped.join("|")})(?![\\p{L}\\p{N}])`, "giu");
}

/**
 * The content of a post.
 * @param {string} html  sanitised by the server
 * @param {string} text  shown if there is no HTML
 * @param {string[]} [words]  to highlight
 */
export function quoted(html, text, words = []) {
  const container = el("div", { class: "quoted" });
  if (html) {
    // parsed in a separate document, where no image loads and no script runs
    const parsed = new DOMParser().parseFromString(html, "text/html");
    parsed.querySelectorAll("img").forEach((image) => image.replaceWith(imageLink(image)));
    pageOptions().then(({ image_hosts: hosts }) => showImages(container, hosts));
    parsed.querySelectorAll("a[href]").forEach(openSafely);
    container.append(...parsed.body.childNodes);
  } else {
    container.append(...text.split(/\n{2,}/).map((paragraph) => el("p", {}, paragraph)));
  }
  markWithin(container, words);
  return container;
}

/** Images from hosts that the operator allows, loaded when they come into view. @param {Element} root @param {string[]} hosts */
function showImages(root, hosts) {
  for (const link of root.querySelectorAll("a.picture")) {
    const source = URL.canParse(/** @type {HTMLAnchorElement} */ (link).href) ? new URL(/** @type {HTMLAnchorElement} */ (link).href) : null;
    if (source?.protocol === "https:" && hosts.includes(source.host)) {
      link.replaceChildren(el("img", { src: source.href, alt: (link.textContent ?? "").replace(/^Image: /, ""),
        loading: "lazy", decoding: "async", referrerpolicy: "no-referrer" }));
    }
  }
}

/** Images become links, so that other sites are not told who reads what. @param {HTMLImageElement} image */
function imageLink(image) {
  return el("a", { href: image.getAttribute("src") ?? "", class: "picture" },
    `Image${image.alt ? `: ${image.alt}` : ""}`);
}

/** @param {Element} link */
function openSafely(link) {
  link.setAttribute("rel", "nofollow noopener noreferrer");
  link.setAttribute("target", "_blank");
}
