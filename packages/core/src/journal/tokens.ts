/**
 * Resume tokens: key id (1) + locator (18) + wait (10) + MAC (26), lower-case base32, 55 characters,
 * so that `reply+<token>` fits into the 64 octets of an e-mail local part and survives case folding.
 * The MAC is checked before any look-up, so a forged token reveals nothing.
 */

import { DurableError } from "../values/errors.ts";
import { base32, hmac, joinParts } from "../values/hash.ts";

/** One secret, or several under one-character ids for rotation: `current` signs, all are accepted. */
export type Secret = string | { readonly current: string; readonly keys: Readonly<Record<string, string>> };

export interface Keyring {
  sign(locator: string, wait: string): string;
  verify(token: string): { readonly locator: string; readonly wait: string } | null;
}

const shape = /^[a-z2-7]{55}$/i;

export function keyring(secret: Secret): Keyring {
  const { current, keys } =
    typeof secret === "string" ? { current: "a", keys: { a: secret } } : (secret ?? {});
  for (const [id, key] of Object.entries(keys ?? {})) {
    if (!/^[a-z2-7]$/.test(id) || typeof key !== "string" || key === "") throw badSecret();
  }
  const known: ReadonlyMap<string, string> = new Map(Object.entries(keys ?? {}));
  if (current === undefined || !known.has(current)) throw badSecret();
  const mac = (body: string): string => {
    const key = known.get(body[0] as string);
    return key === undefined ? "" : base32(hmac(key, joinParts(["durable resume token v1", body])), 26);
  };
  return {
    sign: (locator, wait) => {
      const body = current + locator + wait;
      return body + mac(body);
    },
    verify: (token) => {
      const given = typeof token === "string" ? token.trim() : "";
      // The shape is checked before the case is changed, because the lower case of the Kelvin sign is a k.
      if (!shape.test(given)) return null;
      const text = given.toLowerCase();
      if (!equal(mac(text.slice(0, 29)), text.slice(29))) return null;
      return { locator: text.slice(1, 19), wait: text.slice(19, 29) };
    },
  };
}

/** Compares all characters, so that the time reveals nothing. */
function equal(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < b.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}

function badSecret(): DurableError {
  return new DurableError(
    "invalid-options",
    "`secret` is invalid. Use a text, or { current, keys } with key ids of one character (a-z, 2-7).",
  );
}
