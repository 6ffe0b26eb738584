/** Elements in one expression. Text becomes text nodes only, so nothing in a post can run. */

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {{ on?: Record<string, (event: any) => void>, vars?: Record<string, string | number>,
 *   [attribute: string]: any }} Props  attributes; `on` holds listeners, `vars` custom properties
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Props} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function el(tag, props = {}, ...children) {
  return /** @type {HTMLElement} */ (dress(document.createElement(tag), props, children));
}

/**
 * The same for drawings.
 * @param {string} tag
 * @param {Props} [props]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, props = {}, ...children) {
  return /** @type {SVGElement} */ (dress(document.createElementNS(SVG, tag), props, children));
}

/** Text that only a screen reader says. @param {string} text */
export function unseen(text) {
  return el("span", { class: "unseen" }, text);
}

let last = 0;
/** An id that no other element has. */
export function freshId() {
  last += 1;
  return `part-${last}`;
}

/** @param {string} message  said by a screen reader, not shown */
export function announce(message) {
  const place = document.getElementById("announce");
  if (place) place.textContent = message;
}

/**
 * @param {Element} element
 * @param {Props} props
 * @param {(Child | Child[])[]} children
 */
function dress(element, { on = {}, vars = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  for (const [name, value] of Object.entries(vars)) {
    /** @type {HTMLElement} */ (element).style.setProperty(`--${name}`, String(value));
  }
  element.append(...children.flat(3).filter(isThere).map(asNode));
  return element;
}

/** @param {Child} child */
const isThere = (child) => child !== null && child !== undefined && child !== false;

/** @param {any} child */
const asNode = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));
