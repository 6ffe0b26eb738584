/** What people look for, and what operators teach the search: synonyms and pinned results. */
import { download, get, put } from "./api.js";
import { lineChart } from "./charts.js";
import { announce, el, freshId } from "./dom.js";
import { count, shareOf } from "./format.js";
import { fill, notice } from "./panel.js";
import { address } from "./route.js";

/**
 * @typedef {{ searches: number, claimed: number, answered: number }} Counts
 * @typedef {Counts & { day: string }} Day
 * @typedef {Counts & { question: string }} Search
 * @typedef {{ days: number, by_day: Day[], top: Search[], without: Search[] }} Insights
 * @typedef {{ synonyms: string[][], pinned: { question: string, posts: string[] }[] }} Options
 */

/** @param {HTMLElement} root */
export function insightsView(root) {
  const body = el("div", { class: "results" });
  root.append(el("div", { class: "page-head" }, el("h1", {}, "Insights"),
    el("p", { class: "lead" }, "What people look for, and whether the archive had it.")), body);
  return () => {
    document.title = "Insights – Askonce";
    fill(body, (signal) => Promise.all([get("insights", {}, signal), get("options", {}, signal)]),
      ([insights, options]) => [...insightParts(insights), optionsForm(options)]);
  };
}

/** @param {Insights} insights */
function insightParts({ days, by_day: byDay, top, without }) {
  if (!days && !byDay.length) {
    return [notice("Searches are not logged. To see what people look for, start the server with ",
      el("code", {}, "--log-searches 30"), ", which keeps them for 30 days without personal data.")];
  }
  if (!byDay.length) return [notice("No searches yet.")];
  const all = byDay.reduce((sum, { searches }) => sum + searches, 0);
  const answered = byDay.reduce((sum, day) => sum + day.answered, 0);
  return [
    el("p", { class: "headline" }, `${count(all)} ${all === 1 ? "search" : "searches"}, `, el("strong", {}, shareOf(answered, all)), " answered from the archive"),
    el("section", { class: "card curves" },
      lineChart({ title: "Searches by day", labels: byDay.map(({ day }) => day), fromZero: true, whole: true, format: count,
        series: [{ name: "Searches", tone: "one", values: byDay.map(({ searches }) => searches) }] }),
      lineChart({ title: "Share answered from the archive", labels: byDay.map(({ day }) => day), fromZero: true,
        format: (v) => `${Math.round(100 * v)} %`,
        series: [{ name: "Answered", tone: "two",
          values: byDay.map((day) => (day.searches ? day.answered / day.searches : null)) }] })),
    saveButton("days"),
    el("div", { class: "columns even" },
      table("Top searches", top, "top"), table("Without a good hit", without, "without")),
  ];
}

/** @param {"days" | "top" | "without"} table */
function saveButton(table) {
  const problem = el("span", { class: "small bad", role: "status" });
  async function save() {
    try {
      await download(`insights.csv?table=${table}`, `${table}.csv`);
      problem.textContent = "";
    } catch (error) {
      problem.textContent = error instanceof Error ? error.message : String(error);
    }
  }
  return el("p", {}, el("button", { type: "button", class: "quiet", on: { click: save } }, "Download CSV"), " ", problem);
}

/** @param {string} title @param {Search[]} rows @param {"top" | "without"} name */
function table(title, rows, name) {
  const heads = name === "top" ? ["Search", "Times", "Answered"] : ["Search", "Times"];
  return el("section", { class: "column", "aria-label": title }, el("h2", {}, title),
    rows.length ? el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${title}: table` },
      el("table", { class: "searches" }, el("thead", {}, el("tr", {}, heads.map((head) =>
        el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map(({ question, searches, answered }) => el("tr", {},
        el("th", { scope: "row" }, el("a", { href: address({ q: question }), "data-route": true }, question)),
        el("td", { class: "number" }, count(searches)),
        name === "top" && el("td", { class: "number" }, shareOf(answered, searches))))))) : notice("None."),
    saveButton(name));
}

/** @param {Options} options */
function optionsForm(options) {
  const [synonymsId, pinnedId] = [freshId(), freshId()];
  const synonyms = /** @type {HTMLTextAreaElement} */ (el("textarea", { id: synonymsId, rows: 5 },
    options.synonyms.map((group) => group.join(", ")).join("\n")));
  const pinned = /** @type {HTMLTextAreaElement} */ (el("textarea", { id: pinnedId, rows: 5 },
    options.pinned.map(({ question, posts }) => `${question}: ${posts.join(", ")}`).join("\n")));
  const status = el("p", { class: "small", role: "status" });

  /** @param {SubmitEvent} event */
  async function save(event) {
    event.preventDefault();
    try {
      await put("options", { synonyms: lines(synonyms.value).map(listed), pinned: lines(pinned.value).map(pin) });
      status.textContent = "Saved. The next search uses them.";
      announce(status.textContent);
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : String(error);
    }
  }
  return el("form", { class: "draft teach", on: { submit: save } },
    el("h2", {}, "Synonyms and pinned results"),
    el("label", { for: synonymsId }, "Synonyms: words that mean the same, one group per line, such as “tyre, tire”"),
    synonyms,
    el("label", { for: pinnedId }, "Pinned: “words of a question: ids of posts”, one per line, such as “flat tyre: q002”; the id is in the address of an open question"),
    pinned,
    el("button", { type: "submit", class: "primary" }, "Save"), status);
}

/** @param {string} text */
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** @param {string} line */
const listed = (line) => line.split(",").map((word) => word.trim()).filter(Boolean);

/** @param {string} line */
function pin(line) {
  const at = line.lastIndexOf(":");
  return { question: line.slice(0, Math.max(0, at)).trim(), posts: listed(line.slice(at + 1)) };
}
