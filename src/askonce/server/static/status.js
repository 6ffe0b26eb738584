/** The status of the engine, in the header and for other views. */
import { readiness } from "./api.js";
import { el } from "./dom.js";
import { plural } from "./format.js";

const EVERY = 10_000;
const EVERY_WHILE_BUSY = 2_000;

/** @typedef {import("./api.js").Status} Status */

/** @type {Set<(status: Status) => void>} */
const listeners = new Set();
/** @type {Status | null} */
let latest = null;

/** @param {(status: Status) => void} listener @param {AbortSignal} signal  to unsubscribe */
export function onStatus(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
  if (latest) listener(latest);
}

let timer = 0;

/** Poll the status while the page is visible. @param {HTMLElement} container */
export async function watchStatus(container) {
  if (!document.hidden) {
    try {
      latest = await readiness();
      for (const listener of listeners) listener(latest);
      container.replaceChildren(...statusParts(latest));
    } catch {
      latest = null;
      container.replaceChildren(dot("bad"), "Can’t reach the server");
    }
  }
  const busy = latest !== null && (!latest.ready || latest.building !== null);
  clearTimeout(timer);
  timer = setTimeout(watchStatus, busy || latest === null ? EVERY_WHILE_BUSY : EVERY, container);
}

/** @param {Status} status */
function statusParts(status) {
  if (!status.ready) return [dot("busy"), "Opening the archive…"];
  if (status.building) return [dot("busy"), inProgress(status.building)];
  const behind = status.change - status.indexed;
  if (behind > 0) return [dot("busy"), `Indexing ${plural(behind, "change")}`];
  return [dot("good"), status.model ? `Model ${status.model}` : "BM25, no model yet"];
}

/** "loading models" → "Loading models…". @param {string} what */
export const inProgress = (what) => `${what.charAt(0).toUpperCase()}${what.slice(1)}…`;

/** @param {"good" | "busy" | "bad"} tone */
const dot = (tone) => el("span", { class: `dot dot-${tone}`, "aria-hidden": "true" });
