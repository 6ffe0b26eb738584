/** What the engine is doing, in the header and for whoever wants to know. */
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

/** @param {(status: Status) => void} listener @param {AbortSignal} signal  ends it */
export function onStatus(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
  if (latest) listener(latest);
}

/** Ask now, and again and again while the page is looked at. @param {HTMLElement} place */
export async function watchStatus(place) {
  if (!document.hidden) {
    try {
      latest = await readiness();
      for (const listener of listeners) listener(latest);
      place.replaceChildren(...statusParts(latest));
    } catch {
      latest = null;
      place.replaceChildren(dot("bad"), "Server not reached");
    }
  }
  const busy = latest !== null && (!latest.ready || latest.building !== null);
  setTimeout(watchStatus, busy ? EVERY_WHILE_BUSY : EVERY, place);
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
