/** Times, amounts and values as short texts. */

import type { RowView, Spend } from "@durable/core/inspect";
import { costText, countText, plain, secondsText } from "@durable/core/inspect";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A length of time in at most two units: `340ms`, `8.2s`, `3m 12s`, `2d 4h`. */
export function duration(ms: number): string {
  const length = Math.max(0, Math.round(ms));
  if (length < second) return `${length}ms`;
  const seconds = secondsText(length);
  if (seconds !== null) return `${seconds}s`;
  if (length < minute) return "1m";
  if (length < hour) return two(length, [minute, "m"], [second, "s"]);
  if (length < day) return two(length, [hour, "h"], [minute, "m"]);
  return two(length, [day, "d"], [hour, "h"]);
}

function two(length: number, [big, bigName]: [number, string], [small, smallName]: [number, string]): string {
  const rest = Math.floor((length % big) / small);
  return `${Math.floor(length / big)}${bigName}${rest === 0 ? "" : ` ${rest}${smallName}`}`;
}

/** The largest unit alone: `3m`, `2d`. */
export function roughly(ms: number): string {
  return (
    duration(ms)
      .split(" ")[0]
      ?.replace(/\.\d+s$/, "s") ?? ""
  );
}

/** Where the reader is: the time zone that times are shown in. */
export interface Zoned {
  readonly zone: string;
}

/** A time of day today, a date before. The head of its column, or another line, says the zone. */
export function when(at: number, now: number, { zone }: Zoned): string {
  const [day, time] = inZone(at, zone);
  return day === inZone(now, zone)[0] ? time : `${day} ${time.slice(0, 5)}`;
}

/** The same, with the name of the zone: for a time that stands alone. */
export function whenIn(at: number, now: number, term: Zoned): string {
  return `${when(at, now, term)} ${zoneName(at, term)}`;
}

/** The short name of the zone at a time: `UTC`, `CET`, `GMT-8`. */
export function zoneName(at: number, { zone: timeZone }: Zoned): string {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone, timeZoneName: "short" }).formatToParts(at);
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? timeZone;
}

/** The day and the time of day. Swedes write dates as ISO 8601 does. */
function inZone(at: number, timeZone: string): readonly [string, string] {
  const [day = "", time = ""] = new Date(at).toLocaleString("sv-SE", { timeZone }).split(" ");
  return [day, time];
}

/** `6.1k/1.4k`: input and output tokens; empty without any. */
export function tokens({ inputTokens, outputTokens }: Pick<Spend, "inputTokens" | "outputTokens">): string {
  return inputTokens + outputTokens === 0 ? "" : `${countText(inputTokens)}/${countText(outputTokens)}`;
}

/** An amount of the currency of the prices: `$0.0402`. */
export function money(cost: number | null): string {
  return cost === null ? "" : costText(cost);
}

/** A value on one line. */
export function inline(value: unknown, length = 200): string {
  const text =
    typeof value === "string" ? value : (JSON.stringify(plain(value, { textLength: length })) ?? "null");
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** An error and its causes, one line each. */
export function errorLines(error: unknown): string[] {
  const lines: string[] = [];
  for (let at: unknown = error, depth = 0; at !== undefined && at !== null && depth < 8; depth++) {
    if (!(at instanceof Error)) return [...lines, inline(at)];
    const { code } = at as { code?: unknown };
    lines.push(`${typeof code === "string" ? code : inline(at.name, 60)}: ${inline(at.message, 500)}`);
    at = at.cause;
  }
  return lines;
}

/** `1 run`, `3 runs`. */
export function plural(amount: number, noun: string): string {
  return `${amount.toLocaleString("en")} ${noun}${amount === 1 ? "" : "s"}`;
}

/** What people know a model call by, beside its hash: its number, its model and its first words. Empty for other rows. */
export function turnText({ turn, words = "", usage }: Pick<RowView, "turn" | "words" | "usage">): string {
  if (turn === undefined) return "";
  const model = usage[0]?.model;
  return inline(
    [`turn ${turn}${model === undefined ? "" : ` ${model}`}`, words].filter(Boolean).join(": "),
    120,
  );
}
