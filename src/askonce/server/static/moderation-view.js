/** A moderator's desk: likely duplicates, likely answers, questions asked again and again. */
import { get, post, remove } from "./api.js";
import { announce, el, freshId } from "./dom.js";
import { dateFact, facts, likelihoodBadge, overlapBadge, votesFact } from "./facts.js";
import { fold, longList, shortened } from "./fold.js";
import { count, plural } from "./format.js";
import { icon } from "./icons.js";
import { fill, notice } from "./panel.js";
import { currentRoute, go } from "./route.js";
import { postLink } from "./thread.js";

/**
 * @typedef {{ id: string, title: string, text: string, votes: number | null, answers: number,
 *   created: string | null }} DeskPost
 * @typedef {{ question: DeskPost, original: DeskPost, probability: number, calibrated: boolean }} Pair
 * @typedef {{ question: DeskPost, answer: DeskPost, answered: DeskPost, probability: number,
 *   calibrated: boolean }} Answered
 * @typedef {{ original: DeskPost, duplicates: DeskPost[], likely: DeskPost[] }} Again
 * @typedef {"duplicate" | "related" | "dismiss" | "merge"} Kind
 * @typedef {{ number: number, kind: Kind, source: string, source_title: string, target: string,
 *   target_title: string, moved: string[], made: string }} Decision
 * @typedef {{ duplicates: Pair[], answers: Answered[], asked_again: Again[],
 *   decisions: Decision[] }} Desk
 */

const LEAST = { 0.3: "30 %", 0.5: "50 %", 0.7: "70 %", 0.9: "90 %" };
const DONE = { duplicate: "Marked as a duplicate", related: "Linked", dismiss: "Dismissed", merge: "Merged" };

/** @param {HTMLElement} root */
export function moderationView(root) {
  const body = el("div", { class: "results" });
  root.append(el("div", { class: "page-head" }, el("h1", {}, "Moderate"),
    el("p", { class: "lead" }, "Likely duplicates, unanswered questions with a likely answer, and your real FAQ.")), body);
  const least = leastChoice();
  async function load() {
    const chosen = document.activeElement === least.select; // drawing takes the focus from it
    await fill(body, (signal) => get("moderation", { least: least.show() }, signal),
      (desk) => deskParts(desk, least.part, load));
    if (chosen) least.select.focus();
  }
  return () => {
    document.title = "Moderate – Askonce";
    load();
  };
}

/** @param {Desk} desk @param {Node} leastPart @param {() => void} reload */
function deskParts(desk, leastPart, reload) {
  const latest = el("div", {});
  let decisions = desk.decisions;
  function showLatest() {
    latest.replaceChildren(section("Latest decisions", decisions.map((one) => decisionRow(one, reload)), "None yet."));
  }
  /** @type {Decided} */
  const decided = {
    made: (decision) => { decisions = [decision, ...decisions]; showLatest(); },
    undone: (number) => { decisions = decisions.filter((one) => one.number !== number); showLatest(); },
  };
  showLatest();
  return [
    section("Likely duplicates", desk.duplicates.map((pair) => duplicateCard(pair, decided)),
      "No likely duplicates among the newest questions.", leastPart),
    section("Unanswered questions with a likely answer", desk.answers.map((one) => answerCard(one, decided)),
      "No unanswered question has a likely answer."),
    section("Asked again and again: your real FAQ", desk.asked_again.map(againCard),
      "No question was asked twice, as far as is known.", null, longList),
    latest,
  ];
}

/** What happens to the list of decisions.
 * @typedef {{ made: (decision: Decision) => void, undone: (number: number) => void }} Decided */

/** @param {Node[]} items */
const allItems = (items) => el("ul", { class: "desk-list" }, items.map((item) => el("li", {}, item)));

/**
 * @param {string} title @param {Node[]} items @param {string} none @param {Node | null} [choice]
 * @param {(items: Node[]) => Node} [list]
 */
function section(title, items, none, choice, list = allItems) {
  return el("section", { class: "desk", "aria-label": title }, el("h2", {}, title,
    items.length > 0 && el("span", { class: "tally" }, items.length)), choice,
  items.length ? list(items) : notice(none));
}

/** How likely a duplicate must be to be listed. */
function leastChoice() {
  const id = freshId();
  const select = /** @type {HTMLSelectElement} */ (el("select", { id,
    on: { change: () => go({ ...currentRoute(), least: select.value }) } },
  Object.entries(LEAST).map(([value, text]) => el("option", { value }, text))));
  return {
    select,
    part: el("p", { class: "choice" }, el("label", { for: id }, "At least this likely"), select),
    show: () => (select.value = currentRoute().least),
  };
}

/** @param {{ probability: number, calibrated: boolean }} pair */
const badge = ({ probability, calibrated }) =>
  (calibrated ? likelihoodBadge(probability) : overlapBadge(probability));

/** @param {Pair} pair @param {Decided} decided */
function duplicateCard({ question, original, ...likely }, decided) {
  return card([question, original], ["Newer question", "Older question"],
    facts(badge(likely)), decided,
    [["duplicate", "Mark as duplicate", question.id, original.id],
      ["merge", "Merge answers", question.id, original.id],
      ["dismiss", "Not a duplicate", question.id, original.id]]);
}

/** @param {Answered} proposal @param {Decided} decided */
function answerCard({ question, answer, answered, ...likely }, decided) {
  return card([question, { ...answer, title: answered.title }], ["Unanswered question", "Likely answer, given to"],
    facts(badge(likely)), decided,
    [["related", "Link to this answer", question.id, answered.id],
      ["dismiss", "Not an answer", question.id, answer.id]]);
}

/** @typedef {[Kind, string, string, string]} Action  kind, label, source, target */

/**
 * Both texts beside each other, and what can be done.
 * @param {[DeskPost, DeskPost]} posts @param {[string, string]} names @param {Node} about
 * @param {Decided} decided @param {Action[]} actions
 */
function card(posts, names, about, decided, actions) {
  const status = el("p", { class: "small", role: "status" });
  const buttons = el("div", { class: "actions" });
  const article = el("article", { class: "hit desk-card" }, about,
    el("div", { class: "beside" }, posts.map((one, n) => el("div", { role: "group", "aria-label": names[n] },
      el("p", { class: "small" }, names[n]),
      el("h3", {}, postLink(one.id, one.title)),
      one.text && shortened(el("p", { class: "desk-text" }, one.text), one.text.length),
      facts(votesFact(one.votes), one.answers ? el("span", { class: "fact" }, plural(one.answers, "answer")) : null,
        dateFact(one.created))))),
    buttons, status);

  function offer() {
    article.classList.remove("settled");
    buttons.replaceChildren(...actions.map((action) => button(action[1], () => carryOut(action))));
  }

  /** @param {Action} action */
  async function carryOut([kind, , source, target]) {
    await attempt(status, async () => {
      /** @type {Decision} */
      const decision = await post("decisions", { kind, source, target });
      decided.made(decision);
      article.classList.add("settled");
      status.textContent = `${DONE[kind]}.`;
      announce(status.textContent);
      const back = button("Undo", () => attempt(status, async () => {
        await remove(`decisions/${decision.number}`);
        decided.undone(decision.number);
        status.textContent = "";
        announce("Undone.");
        offer();
        /** @type {HTMLElement} */ (buttons.firstElementChild).focus();
      }));
      buttons.replaceChildren(back);
      back.focus();
    });
  }
  offer();
  return article;
}

/** @param {Again} group */
function againCard({ original, duplicates, likely }) {
  const others = duplicates.length + likely.length;
  const list = fold([icon("chevron"), `Show ${others === 1 ? "the other" : `the ${others} others`}`], "again", (container) => {
    container.append(el("ul", {}, [...duplicates, ...likely].map(({ id, title }, n) =>
      el("li", {}, postLink(id, title), n >= duplicates.length && el("span", { class: "small" }, " (likely, not marked)")))));
  });
  return el("article", { class: "hit" },
    el("h3", {}, postLink(original.id, original.title)),
    facts(el("span", { class: "fact" }, `asked ${others + 1} times`),
      likely.length > 0 ? el("span", { class: "fact" }, `${count(likely.length)} not marked yet`) : null,
      el("span", { class: "fact" }, original.answers ? plural(original.answers, "answer") : "no answers yet")),
    el("div", { class: "actions" }, list.button), list.content);
}

/** @param {Decision} decision @param {() => void} reload */
function decisionRow({ number, kind, moved, made, ...pair }, reload) {
  const status = el("span", { class: "small", role: "status" });
  return el("p", { class: "decision" }, `${DONE[kind]}: `, postLink(pair.source, pair.source_title || pair.source),
    kind === "duplicate" || kind === "merge" ? " → " : " and ", postLink(pair.target, pair.target_title || pair.target),
    moved.length > 0 && `, ${plural(moved.length, "answer")} moved`, " ", dateFact(made), " ",
    button("Undo", () => attempt(status, async () => {
      await remove(`decisions/${number}`);
      announce("Undone.");
      reload();
    })), status);
}

/** @param {string} text @param {() => void} press */
const button = (text, press) => el("button", { type: "button", class: "quiet", on: { click: press } }, text);

/** Show an error beside what was pressed. @param {HTMLElement} status @param {() => Promise<void>} act */
async function attempt(status, act) {
  try {
    await act();
  } catch (error) {
    status.textContent = error instanceof Error ? error.message : String(error);
  }
}
