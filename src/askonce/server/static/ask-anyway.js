/** Ask as a new question: hand the draft over to the forum, or post it here where writes are allowed. */
import { post } from "./api.js";
import { announce, el, freshId } from "./dom.js";
import { pageOptions } from "./page-options.js";
import { address } from "./route.js";

/**
 * Nothing until the server's options are known, or where it offers no way.
 * @param {string} question @param {string} heading @param {boolean} [open]  otherwise it unfolds
 */
export function askAnyway(question, heading, open = false) {
  const container = el("section", { class: "ask-anyway", "aria-label": "Ask a new question", hidden: true });
  pageOptions().then((options) => {
    if (!options.ask_url && !options.writes) return;
    const form = draftForm(question, options);
    container.append(open
      ? el("div", { class: "draft-card" }, el("h3", {}, heading), form)
      : el("details", { class: "draft-card" }, el("summary", {}, heading), form));
    container.hidden = false;
  });
  return container;
}

/** @param {string} question @param {import("./page-options.js").PageOptions} options */
function draftForm(question, { ask_url: template }) {
  const [titleId, bodyId] = [freshId(), freshId()];
  const title = /** @type {HTMLInputElement} */ (el("input", { id: titleId, type: "text", value: question,
    maxlength: 300, required: true }));
  const body = /** @type {HTMLTextAreaElement} */ (el("textarea", { id: bodyId, rows: 4, maxlength: 20_000 }));
  const status = el("p", { class: "small", role: "status" });
  const form = el("form", { class: "draft", on: { submit } },
    el("label", { for: titleId }, "Title"), title,
    el("label", { for: bodyId }, "Details"), body,
    el("button", { type: "submit", class: "primary" }, template ? "Continue on the forum" : "Post the question"),
    status);

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    if (!title.value.trim()) return title.focus();
    if (template) return location.assign(filled(template, title.value.trim(), body.value.trim()));
    status.textContent = "Posting…";
    try {
      const { ids } = await post("posts", { title: title.value.trim(), body: body.value.trim() });
      announce("The question was posted.");
      form.replaceWith(el("p", { class: "posted" }, "Posted. ",
        el("a", { href: address({ post: ids[0] }), "data-route": true }, "Open your question")));
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : String(error);
    }
  }
  return form;
}

/** @param {string} template @param {string} title @param {string} body */
const filled = (template, title, body) =>
  template.replaceAll("{title}", encodeURIComponent(title)).replaceAll("{body}", encodeURIComponent(body));
