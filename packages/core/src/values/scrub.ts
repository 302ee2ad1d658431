/**
 * The registered secrets, and how they are removed from texts. They are global to the process, because a secret that
 * one run registers may occur in the error of another. errors.ts imports this file to scrub messages, so the part that
 * throws errors is in secret.ts.
 */

import { toBase64 } from "./base64.ts";

/** The name of secrets that were registered without one. */
export const unnamed = "secret";

/** Values by name; null when several secrets without a name are registered. */
const values = new Map<string, string | null>();
/** Replacements, by each form in which a secret may be written. */
const labels = new Map<string, string>();
/** The same, longest first, because a secret may contain another. */
let forms: readonly (readonly [form: string, label: string])[] = [];
/** The length of the shortest form: a shorter text contains no secret. */
let shortest = Infinity;

export const labelOf = (name: string): string => `[secret ${name}]`;
export const valueOf = (name: string): string | null | undefined => values.get(name);

/** `reveal` returns the newest value of a name; older values are still scrubbed. */
export function register(value: string, name: string): void {
  if (values.get(name) === value) return;
  values.set(name, name === unnamed && values.has(name) ? null : value);
  for (const form of spellings(value)) labels.set(form, labelOf(name));
  forms = [...labels].toSorted(([a], [b]) => b.length - a.length);
  shortest = forms.at(-1)?.[0].length ?? Infinity;
}

/** Removes secrets from a text. With `fill`, every character of a secret is replaced by it, so the length stays. */
export function scrub(text: string, fill?: string): string {
  if (text.length < shortest) return text;
  for (const [form, label] of forms) text = text.replaceAll(form, fill?.repeat(form.length) ?? label);
  return text;
}

/**
 * Removes secrets from the fields of a value, and of errors and other objects in it. An object without any stays the same. Each
 * is checked once, and what is too deep becomes a text.
 */
export function scrubFields<T>(value: T, known = new Map<unknown, unknown>(), depth = 0): T {
  if (typeof value === "string") return scrub(value) as T;
  if (shortest === Infinity || Object(value) !== value || ArrayBuffer.isView(value)) return value;
  if (known.has(value) || depth > mostNested) return (known.get(value) ?? "…") as T;
  known.set(value, "…");
  if (value instanceof URL || value instanceof URLSearchParams) {
    const text = String(value);
    return scrub(text) === text ? value : (scrub(text) as T);
  }
  if (value instanceof Map || value instanceof Set) {
    const members = [...value] as unknown[];
    const clean = members.map((one) => scrubFields(one, known, depth + 1));
    if (clean.every((one, n) => one === members[n])) return value;
    return (value instanceof Map ? new Map(clean as [unknown, unknown][]) : new Set(clean)) as T;
  }
  let isSame = true;
  const scrubbed = <V>(one: V): V => {
    const clean = scrubFields(one, known, depth + 1);
    isSame &&= clean === one;
    return clean;
  };
  const fields = Object.entries(Object.getOwnPropertyDescriptors(value)).map(([name, field]) => {
    if ("value" in field) field.value = scrubbed(field.value);
    return [scrubbed(name), field];
  });
  const copy = Array.isArray(value) ? [] : (Object.create(Object.getPrototypeOf(value)) as object);
  const result = isSame ? value : Object.defineProperties(copy, Object.fromEntries(fields));
  known.set(value, result);
  return result as T;
}

/** Deeper fields than these are not logged by anybody. */
const mostNested = 8;

/** The longest text of a value in the head of a run. */
const shortLength = 200;

/** A text as heads have it: without secrets, and cut. */
export function shortText(text: string): string {
  return scrub(text).slice(0, shortLength).toWellFormed();
}

/** For tests: forgets all secrets. */
export function forgetSecrets(): void {
  values.clear();
  labels.clear();
  forms = [];
  shortest = Infinity;
}

function spellings(value: string): string[] {
  const wellFormed = value.toWellFormed();
  const bytes = new TextEncoder().encode(wellFormed);
  // In a longer base64 text the secret may begin at any of three offsets in a group of four characters. Characters that
  // also depend on the neighbouring bytes are left out.
  const coded = [0, 1, 2].flatMap((shift) => {
    const shifted = new Uint8Array(shift + bytes.length);
    shifted.set(bytes, shift);
    const text = toBase64(shifted).slice(Math.ceil((shift * 4) / 3), Math.floor((shifted.length * 4) / 3));
    return [text, text.replaceAll("+", "-").replaceAll("/", "_")];
  });
  // `URL` escapes slightly more characters than `encodeURIComponent`, and `URLSearchParams` escapes others.
  const escaped = encodeURIComponent(wellFormed);
  const { search } = new URL(`http://x/?${escaped}`);
  const parameter = String(new URLSearchParams([["", wellFormed]]));
  return [value, JSON.stringify(value).slice(1, -1), escaped, search.slice(1), parameter.slice(1), ...coded];
}
