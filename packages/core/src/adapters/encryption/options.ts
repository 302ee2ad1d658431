/** Checks the keys of a cipher when it is created. Messages never show the given value, because it may be a key. */

import { fromBase64, toBase64 } from "../../values/base64.ts";
import { DurableError } from "../../values/errors.ts";
import { isWeak, keyRecipe } from "../../values/secret.ts";

/** The keys of `aesGcm`. */
export interface AesGcmOptions {
  /** The id of the key that encrypts. */
  readonly current: string;
  /**
   * Keys of 32 bytes, as bytes or as base64 text, by ids of 1 to 32 letters, digits, "_" and "-". All of them
   * decrypt: keep a retired key here as long as anything it encrypted is kept. The current one must be random.
   */
  readonly keys: Readonly<Record<string, Uint8Array | string>>;
  /** True to read journals from before encryption was on. Remove it when they are gone. */
  readonly acceptPlain?: boolean | undefined;
}

export interface MasterKeys {
  readonly current: string;
  /** As base64url, because `hmac` takes a text. */
  readonly keys: ReadonlyMap<string, string>;
}

const keyBytes = 32;

export function isKeyId(id: unknown): id is string {
  return typeof id === "string" && /^[\w-]{1,32}$/.test(id);
}

export function masterKeys(options: AesGcmOptions): MasterKeys {
  const { current, keys: given } = (options ?? {}) as Partial<AesGcmOptions>;
  const entries = Object.entries(given ?? {});
  if (entries.length === 0) throw bad(`got no keys. ${keyRecipe}`);
  if (!entries.every(([id]) => isKeyId(id)))
    throw bad('got an invalid key id. Use 1 to 32 letters, digits, "_" and "-".');
  const keys = new Map<string, string>();
  for (const [id, key] of entries) {
    const bytes = key instanceof Uint8Array ? key : fromText(key);
    if (bytes?.length !== keyBytes)
      throw bad(
        `got an invalid key "${id}". A key has ${keyBytes} bytes, as bytes or as base64 text. ${keyRecipe}`,
      );
    if (id === current && isWeak(bytes))
      throw bad(
        `got the key "${id}" as \`current\`, which is too regular: it can be guessed. ${keyRecipe} The old key still decrypts if it stays in \`keys\`.`,
      );
    keys.set(id, toBase64Url(bytes));
  }
  if (current === undefined || !keys.has(current))
    throw bad(`got an invalid \`current\`. Use the id of one of its keys: ${[...keys.keys()].join(", ")}.`);
  if ((globalThis.crypto as Crypto | undefined)?.subtle === undefined)
    throw bad("needs `crypto.subtle`, which is missing here. Web pages have it only over https.");
  return { current, keys };
}

function fromText(key: unknown): Uint8Array | null {
  const text = typeof key === "string" ? key.trim() : "";
  // Exactly the length of 32 encoded bytes, so that no other text is decoded.
  if (!/^[\w+/-]{43}=?$/.test(text)) return null;
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}

function bad(why: string): DurableError {
  return new DurableError("invalid-options", `aesGcm ${why}`);
}

const way = { alphabet: "base64url", omitPadding: true } as const;
type Native = { toBase64?(options: typeof way): string };
type NativeClass = { fromBase64?(text: string, options: typeof way): Uint8Array<ArrayBuffer> };

export function toBase64Url(bytes: Uint8Array): string {
  const native = (bytes as Native).toBase64?.(way);
  return native ?? toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Null for any text that `toBase64Url` would not have written. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const native = (Uint8Array as NativeClass).fromBase64?.(text, way);
    const bytes = native ?? fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
    // Both decoders ignore blanks, padding and the unused bits of the last character, so the result is compared.
    return toBase64Url(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}
