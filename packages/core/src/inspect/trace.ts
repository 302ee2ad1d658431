/**
 * The ids of traces. They are derived from the beginning of a run, so that its entries are enough to know its trace, and nothing
 * about traces has to be recorded. Proven in packages/otel/test/trace.test.ts.
 */

import { locatorOf } from "../journal/keys.ts";
import { isBeginning } from "../journal/kinds.ts";
import type { RunEntry } from "../journal/outcome.ts";
import { fingerprint } from "../values/codec/fingerprint.ts";

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

function numberOf(base32: string): bigint {
  let bits = 0n;
  for (const character of base32) bits = (bits << 5n) | BigInt(alphabet.indexOf(character));
  return bits;
}

/** Hexadecimal digits of a hash. A fingerprint has 16 characters of 5 bits each, so two of them make an id. */
export function derivedId(digits: number, ...parts: readonly string[]): string {
  const text = fingerprint(parts) + (digits > 16 ? fingerprint(["more", ...parts]) : "");
  return numberOf(text).toString(16).padStart(digits, "0").slice(-digits);
}

/** Of the 128 bits of an id, those after the locator: they tell the lives and chapters of a run apart. */
const lifeBits = 38n;

/**
 * The id of the trace of a run, from the `seed` that hooks get: the id of the run, and what follows it after a space. It begins
 * with the locator, so that a trace leads to its run without a table.
 */
export function traceOfSeed(seed: string): string {
  const [runId = ""] = seed.split(" ");
  const life = BigInt.asUintN(Number(lifeBits), numberOf(fingerprint(["trace", seed])));
  return ((numberOf(locatorOf(runId)) << lifeBits) | life).toString(16).padStart(32, "0");
}

/** The locator of the run of a trace; `null` for any other text. */
export function locatorOfTrace(text: string): string | null {
  if (!/^[0-9a-f]{32}$/i.test(text)) return null;
  let bits = BigInt(`0x${text}`) >> lifeBits;
  let locator = "";
  for (let i = 0; i < 18; i++, bits >>= 5n) locator = `${alphabet[Number(bits & 31n)]}${locator}`;
  return locator;
}

/** The id of the trace that @durable/otel gives a run, from its entries; empty where they lack the first one. */
export function traceOf(entries: readonly RunEntry[]): string {
  const first = entries.find(isBeginning);
  if (first === undefined) return "";
  const isChild = "childOf" in first && first.childOf !== undefined && first.kind !== "run.continued";
  return traceOfSeed(isChild ? first.runId : `${first.runId} ${first.nonce}`);
}
