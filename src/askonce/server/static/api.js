/** Calls to the server's HTTP API, with its errors as sentences. */
import { keyHeaders } from "./api-key.js";
import { sentence } from "./format.js";

/**
 * @typedef {Record<string, string | number | boolean | null | undefined>} Params
 * @typedef {{ url: string | null, author: string | null, author_url: string | null,
 *   site: string | null, licence: string | null }} Source
 * @typedef {{ id: string, title: string, excerpt: string, score: number,
 *   duplicate_probability: number | null, claimed: boolean, close: boolean, duplicate_of: string | null,
 *   duplicate_of_title: string | null, matched: string, pinned: boolean, folded: { id: string, title: string }[], answers: number,
 *   accepted: boolean, votes: number | null, tags: string[], created: string | null,
 *   stages: Record<string, number>, words: string[] } & Source} Similar
 * @typedef {{ id: string, question_id: string, question_title: string, thread: string,
 *   thread_title: string, text: string, html: string,
 *   score: number, votes: number | null, accepted: boolean, created: string | null,
 *   stages: Record<string, number>, words: string[] } & Source} Answer
 * @typedef {{ id: string, kind: "question" | "answer", title: string, body: string, html: string,
 *   votes: number | null, accepted: boolean, tags: string[], created: string | null,
 *   parent: string | null } & Source} FullPost
 * @typedef {{ post: FullPost, answers: FullPost[], duplicate_of: string | null, duplicate_of_title: string | null,
 *   duplicates: { id: string, title: string }[], revisions: number }} Thread
 * @typedef {{ ready: boolean, archive: string, posts: number, change: number, indexed: number,
 *   model: string | null, building: string | null, read_only: boolean,
 *   read: number | null }} Status
 */

const TRIES = 4; // of a request that an overloaded server refuses

/** An error response of the server. */
export class ApiError extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * @param {string} path  below api/
 * @param {Params} params  null and undefined are left out
 * @param {AbortSignal} [signal]
 */
export function get(path, params = {}, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined) query.set(name, String(value));
  }
  return call(`api/${path}?${query}`, { headers: keyHeaders(), signal });
}

/** @param {string} path @param {object} body @param {AbortSignal} [signal] */
export function post(path, body, signal) {
  return call(`api/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...keyHeaders() },
    body: JSON.stringify(body),
    signal,
  });
}

/** @param {string} path @param {object} body */
export function put(path, body) {
  return call(`api/${path}`, {
    method: "PUT",
    headers: { "content-type": "application/json", ...keyHeaders() },
    body: JSON.stringify(body),
  });
}

/** Save a file of the server. @param {string} path @param {string} name */
export async function download(path, name) {
  const response = await fetch(`api/${path}`, { headers: keyHeaders() });
  if (!response.ok) throw problem(response, await response.json().catch(() => null));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** @param {string} path */
export function remove(path) {
  return call(`api/${path}`, { method: "DELETE", headers: keyHeaders() });
}

/** The engine's status, even before it is ready. @returns {Promise<Status>} */
export async function readiness() {
  const response = await fetch("readyz");
  const status = await response.json();
  if (!("ready" in status)) throw problem(response, status);
  return status;
}

/** @param {string} address @param {RequestInit} options */
async function reach(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") throw error;
    dispatchEvent(new Event("unreachable")); // the header shows it at once
    throw new ApiError("Can’t reach the server. Is “askonce serve” still running?", 0);
  }
}

/** @param {number} milliseconds @param {AbortSignal | null} [signal] */
const pause = (milliseconds, signal) => new Promise((done, stop) => {
  const timer = setTimeout(done, milliseconds);
  signal?.addEventListener("abort", () => { clearTimeout(timer); stop(signal.reason); });
});

/** @param {string} address @param {RequestInit} options */
async function call(address, options) {
  let response = await reach(address, options);
  for (let tries = 1; response.status === 503 && tries < TRIES; tries += 1) {
    await pause(1000 * Math.min(5, Number(response.headers.get("retry-after")) || 1), options.signal);
    response = await reach(address, options);
  }
  const body = await response.json().catch(() => null);
  if (!response.ok || body === null) throw problem(response, body);
  return body;
}

/** @param {Response} response @param {any} body */
function problem(response, body) {
  const message = body?.error?.message ?? `the server responded with status ${response.status}`;
  const wait = response.headers.get("retry-after");
  const retry = wait ? ` Try again in ${wait} s.` : "";
  return new ApiError(sentence(String(message)) + retry, response.status);
}
