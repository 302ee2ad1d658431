/** Whether a key can be guessed. It guards keys that sign or encrypt; keys that only verify stay as they are. */

/** The end of a message that refuses a key. */
export const keyRecipe = "Make one with `openssl rand -base64 32`.";

/** True for a key that is too short, or has too few different characters or bytes, such as 32 zero bytes. */
export function isWeak(key: string | Uint8Array): boolean {
  return key.length < 16 || new Set<unknown>(key).size < 5;
}
