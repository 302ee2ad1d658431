/** Base64url without padding. Uses the runtime's own functions where they exist, which are tens of times as fast. */

import { fromBase64, toBase64 } from "../../values/base64.ts";

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
