/** What the operator has switched on, read once. */
import { get } from "./api.js";

/**
 * @typedef {{ clicks: boolean, ask_url: string | null, writes: boolean, insights: boolean,
 *   image_hosts: string[], one_of_several: boolean, examples: { id: string, title: string }[] }} PageOptions
 */

/** @type {PageOptions} */
const NONE = { clicks: false, ask_url: null, writes: false, insights: false, image_hosts: [], one_of_several: false, examples: [] };

/** @type {Promise<PageOptions> | null} */
let known = null;

/** @returns {Promise<PageOptions>} */
export function pageOptions() {
  known ??= get("page").catch(() => {
    known = null; // try again the next time
    return NONE;
  });
  return known;
}

addEventListener("key-entered", () => { known = null; });
