/**
 * Texts that must not be written down, and how they are taken out of what is. Known to the whole process:
 * a secret that one run brings along may turn up in the error of another.
 * Below errors.ts, so that messages are scrubbed too; what throws is in secret-value.ts.
 */

import { toBase64 } from "./base64.ts";

/** What secrets without a name are called. */
export const unnamed = "secret";

/** By name: the value, or null when several secrets without a name are known. */
const values = new Map<string, string | null>();
/** By each way a secret may be spelled: what is written in its place. */
const labels = new Map<string, string>();
/** The same, longest first: a secret may hold another. */
let forms: readonly (readonly [form: string, label: string])[] = [];
/** No secret fits into a shorter text. */
let shortest = Infinity;

export const labelOf = (name: string): string => `[secret ${name}]`;
export const valueOf = (name: string): string | null | undefined => values.get(name);

/** The newest value of a name is the one that is revealed; older ones are still scrubbed. */
export function register(value: string, name: string): void {
  if (values.get(name) === value) return;
  values.set(name, name === unnamed && values.has(name) ? null : value);
  for (const form of spellings(value)) labels.set(form, labelOf(name));
  forms = [...labels].toSorted(([a], [b]) => b.length - a.length);
  shortest = forms.at(-1)?.[0].length ?? Infinity;
}

/** The text without the secrets in it. With `fill`, each of their characters becomes that one. */
export function scrub(text: string, fill?: string): string {
  if (text.length < shortest) return text;
  for (const [form, label] of forms) text = text.replaceAll(form, fill?.repeat(form.length) ?? label);
  return text;
}

/** For tests: no secret is known any more. */
export function forgetSecrets(): void {
  values.clear();
  labels.clear();
  forms = [];
  shortest = Infinity;
}

function spellings(value: string): string[] {
  const wellFormed = value.toWellFormed();
  const bytes = new TextEncoder().encode(wellFormed);
  // Inside a longer text base64 begins at any third of a group; what its neighbours decide is left out.
  const coded = [0, 1, 2].flatMap((shift) => {
    const shifted = new Uint8Array(shift + bytes.length);
    shifted.set(bytes, shift);
    const text = toBase64(shifted).slice(Math.ceil((shift * 4) / 3), Math.floor((shifted.length * 4) / 3));
    return [text, text.replaceAll("+", "-").replaceAll("/", "_")];
  });
  // In an address `URL` escapes a little more, and `URLSearchParams` otherwise.
  const escaped = encodeURIComponent(wellFormed);
  const { search } = new URL(`http://x/?${escaped}`);
  const parameter = String(new URLSearchParams([["", wellFormed]]));
  return [value, JSON.stringify(value).slice(1, -1), escaped, search.slice(1), parameter.slice(1), ...coded];
}
