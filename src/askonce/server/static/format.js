/** Format numbers, dates and probabilities. */

const whole = new Intl.NumberFormat("en");
const inYear = /** @type {const} */ ({ year: "numeric", timeZone: "UTC" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", ...inYear });
const month = new Intl.DateTimeFormat("en-GB", { month: "long", ...inYear });

/** 1234 → "1,234". @param {number} number */
export const count = (number) => whole.format(number).replace("-", "−");

/** "1 answer", "3 answers". @param {number} number @param {string} noun */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** 0.934 → "93 %"; never 0 or 100, since a model is never certain. @param {number} share */
export const percent = (share) => `${Math.min(99, Math.max(1, Math.round(share * 100)))} %`;

/** A share of counted things; may be 0 or 100 %. @param {number} part @param {number} all */
export const shareOf = (part, all) => (all ? `${Math.round((100 * part) / all)} %` : "–");

/** @param {number} number @param {number} [digits] */
export const decimal = (number, digits = 2) => number.toFixed(digits).replace("-", "−");

/** A score of any size. @param {number} score */
export const scoreText = (score) => (Math.abs(score) < 100 ? decimal(score) : count(Math.round(score)));

/** With its sign: "+0.31", "−0.04". @param {number} number @param {number} [digits] */
export const signed = (number, digits = 2) => `${number < 0 ? "" : "+"}${decimal(number, digits)}`;

/** "17 Jan 2021"; null if the date is missing or invalid. @param {string | null | undefined} iso */
export function date(iso) {
  const when = iso ? new Date(iso) : null;
  return when && !Number.isNaN(when.getTime()) ? day.format(when) : null;
}

/** "2021-01" → "January 2021". @param {string} text */
export function monthName(text) {
  const when = new Date(`${text}-01T00:00:00Z`);
  return Number.isNaN(when.getTime()) ? text : month.format(when);
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return plural(Math.round(seconds), "second");
  return plural(Math.round(seconds / 60), "minute");
}

/** @typedef {{ words: string, level: "high" | "middle" | "low" }} Likelihood */

/** The probability that two questions are the same, in words. @param {number} probability @returns {Likelihood} */
export function likelihood(probability) {
  if (probability >= 0.9) return { words: "Almost certainly the same", level: "high" };
  if (probability >= 0.7) return { words: "Very likely the same", level: "high" };
  if (probability >= 0.5) return { words: "Likely the same", level: "high" };
  if (probability >= 0.2) return { words: "Possibly the same", level: "middle" };
  return { words: "Probably different", level: "low" };
}

/** A server's message as a sentence. @param {string} text */
export function sentence(text) {
  const trimmed = text.trim();
  const full = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?…]$/.test(full) ? full : `${full}.`;
}
