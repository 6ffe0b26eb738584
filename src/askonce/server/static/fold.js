/** Content that unfolds in place, filled when it is first opened. */
import { el, freshId } from "./dom.js";

/**
 * @param {(Node | string)[]} label  of the button
 * @param {string} name  the class of button and content
 * @param {(place: HTMLElement) => void} open  fills the content, once
 * @returns {{ button: HTMLElement, content: HTMLElement }}
 */
export function fold(label, name, open) {
  const id = freshId();
  const content = el("div", { class: `${name}-content`, id, hidden: true });
  const button = el("button", {
    type: "button", class: `${name}-button`, "aria-expanded": "false", "aria-controls": id,
    on: { click: toggle },
  }, label);

  function toggle() {
    content.hidden = !content.hidden;
    button.setAttribute("aria-expanded", String(!content.hidden));
    if (!content.hidden && !content.hasChildNodes()) open(content);
  }
  return { button, content };
}
