/** Build elements in one expression. Text only becomes text nodes, so nothing in a post can run. */

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
  return /** @type {HTMLElement} */ (build(document.createElement(tag), props, children));
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Props} [props]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, props = {}, ...children) {
  return /** @type {SVGElement} */ (build(document.createElementNS(SVG, tag), props, children));
}

/** Text for screen readers only. @param {string} text */
export function unseen(text) {
  return el("span", { class: "unseen" }, text);
}

let last = 0;
/** A unique element id. */
export function freshId() {
  last += 1;
  return `part-${last}`;
}

/** @param {string} message  for screen readers only */
export function announce(message) {
  const container = document.getElementById("announce");
  if (container) container.textContent = message;
}

/**
 * @param {Element} element
 * @param {Props} props
 * @param {(Child | Child[])[]} children
 */
function build(element, { on = {}, vars = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  for (const [name, value] of Object.entries(vars)) {
    /** @type {HTMLElement} */ (element).style.setProperty(`--${name}`, String(value));
  }
  element.append(...children.flat(3).filter(isPresent).map(asNode));
  return element;
}

/** @param {Child} child */
const isPresent = (child) => child !== null && child !== undefined && child !== false;

/** @param {any} child */
const asNode = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));
