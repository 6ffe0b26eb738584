/** Calls to the server's HTTP API, with its errors as sentences. */
import { keyHeaders } from "./api-key.js";
import { sentence } from "./format.js";

/**
 * @typedef {Record<string, string | number | boolean | null | undefined>} Params
 * @typedef {{ id: string, title: string, excerpt: string, score: number,
 *   duplicate_probability: number | null, duplicate_of: string | null, answers: number,
 *   accepted: boolean, votes: number | null, tags: string[], created: string | null,
 *   stages: Record<string, number>, words: string[] }} Similar
 * @typedef {{ id: string, question_id: string, question_title: string, text: string, html: string,
 *   score: number, votes: number | null, accepted: boolean, created: string | null,
 *   stages: Record<string, number>, words: string[] }} Answer
 * @typedef {{ id: string, kind: "question" | "answer", title: string, body: string, html: string,
 *   votes: number | null, accepted: boolean, tags: string[], created: string | null,
 *   parent: string | null }} FullPost
 * @typedef {{ post: FullPost, answers: FullPost[], duplicate_of: string | null,
 *   duplicates: { id: string, title: string }[], revisions: number }} Thread
 * @typedef {{ ready: boolean, archive: string, posts: number, change: number, indexed: number,
 *   model: string | null, building: string | null, read_only: boolean }} Status
 */

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

/** The engine's status, even before it is ready. @returns {Promise<Status>} */
export async function readiness() {
  const response = await fetch("readyz");
  const status = await response.json();
  if (!("ready" in status)) throw problem(response, status);
  return status;
}

/** @param {string} address @param {RequestInit} options */
async function call(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") throw error;
    throw new ApiError("Can’t reach the server. Is “askonce serve” still running?", 0);
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
