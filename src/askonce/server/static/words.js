/** Words that matter, marked in texts and in quoted content. */
import { el } from "./dom.js";

/**
 * @param {string} text
 * @param {string[]} words  in lower case
 * @returns {(Node | string)[]} the text with those words marked
 */
export function marked(text, words) {
  const pattern = anyOf(words);
  if (!pattern) return [text];
  return text.split(pattern).map((piece, n) => (n % 2 ? el("mark", {}, piece) : piece));
}

/** Mark words in all text below an element. @param {Element} root @param {string[]} words */
export function markWithin(root, words) {
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
