/**
 * SHA-256 and HMAC through Web Crypto, which compares signatures in constant time. Proven in
 * test/webhook-profiles.test.ts.
 */

const algorithm = { name: "HMAC", hash: "SHA-256" } as const;

/**
 * True when any key made any of the signatures. All are tried, so that the time does not reveal which one
 * matched.
 */
export function verifier(
  keys: readonly Uint8Array<ArrayBuffer>[],
): (signatures: readonly Uint8Array<ArrayBuffer>[], data: Uint8Array<ArrayBuffer>) => Promise<boolean> {
  let imported: Promise<CryptoKey[]> | null = null;
  const importAll = (): Promise<CryptoKey[]> =>
    Promise.all(keys.map((key) => crypto.subtle.importKey("raw", key, algorithm, false, ["verify"])));
  return async (signatures, data) => {
    const ready = await (imported ??= importAll());
    const verdicts = await Promise.all(
      ready.flatMap((key) =>
        signatures.map((signature) => crypto.subtle.verify("HMAC", key, signature, data)),
      ),
    );
    return verdicts.includes(true);
  };
}

export async function sha256Hex(data: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** A text followed by bytes: the signed data. */
export function prefixed(text: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = utf8(text);
  const all = new Uint8Array(head.length + bytes.length);
  all.set(head);
  all.set(bytes, head.length);
  return all;
}

export function fromHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return null;
  return Uint8Array.from({ length: text.length / 2 }, (_, i) =>
    Number.parseInt(text.slice(i * 2, i * 2 + 2), 16),
  );
}

/** With padding or without. Bits that no byte has must be 0: decoders of different processors differ over them. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const bare = text.replace(/=+$/, "");
  try {
    const raw = atob(bare.padEnd(Math.ceil(bare.length / 4) * 4, "="));
    if (btoa(raw).replace(/=+$/, "") !== bare) return null;
    return Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}
