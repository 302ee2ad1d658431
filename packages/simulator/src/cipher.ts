/**
 * A cipher for simulations: AES-GCM, synchronous and deterministic, because Web Crypto settles in real time.
 * Sealed text names its place, so that checks can decrypt a journal without the engine. Proven in
 * test/sim.test.ts.
 */

import { createCipheriv, createDecipheriv, createHash, createHmac } from "node:crypto";
import { DurableError } from "@durable/core";
import type { Cipher, Place } from "@durable/core/storage";
import { chainOf } from "@durable/core/encryption";

export type SealingKey = "a" | "b";

interface Sealed {
  readonly key: string;
  readonly place: Place;
  readonly iv: Buffer;
  readonly body: Buffer;
  readonly tag: Buffer;
}

/**
 * Encrypts with one key and decrypts with both, because every process knows a key before any process uses it.
 */
export function simCipher(current: SealingKey): Cipher {
  const cipher: Cipher = {
    acceptsPlain: false,
    seal: (text, place) => Promise.resolve(seal(current, text, place)),
    open: async (text, { runId, at }) => {
      const sealed = parse(text);
      if (sealed?.place.runId !== runId || sealed.place.at !== at)
        throw new DurableError("tampered", `The value at ${runId} ${at} was sealed for another place.`);
      return decrypt(sealed);
    },
    nameOf: (content) => createHmac("sha256", keyOf(current)).update(content).digest("hex").slice(0, 32),
    chain: () => chainOf(cipher),
  };
  return cipher;
}

/** The decrypted text and its place; null when the text is not sealed. */
export function unseal(text: string): (Place & { readonly text: string }) | null {
  const sealed = parse(text);
  return sealed === null ? null : { text: decrypt(sealed), ...sealed.place };
}

function keyOf(name: string): Buffer {
  return createHash("sha256").update(`key ${name} of a simulation`).digest();
}

function seal(key: string, text: string, { runId, at }: Place): string {
  const place = JSON.stringify([runId, at]);
  const iv = createHash("sha256").update(`${key} ${place} ${text}`).digest().subarray(0, 12);
  const cipher = createCipheriv("aes-256-gcm", keyOf(key), iv).setAAD(Buffer.from(place));
  const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return [
    key,
    Buffer.from(place).toString("base64url"),
    Buffer.concat([iv, cipher.getAuthTag(), body]).toString("base64url"),
  ].join(".");
}

function parse(text: string): Sealed | null {
  const [key = "", place = "", rest = "", ...more] = text.split(".");
  if (!/^[ab]$/.test(key) || more.length > 0) return null;
  const [runId, at] = JSON.parse(Buffer.from(place, "base64url").toString()) as [string, string];
  const bytes = Buffer.from(rest, "base64url");
  const [iv, tag, body] = [bytes.subarray(0, 12), bytes.subarray(12, 28), bytes.subarray(28)];
  return { key, place: { runId, at }, iv, tag, body };
}

function decrypt({ key, place, iv, tag, body }: Sealed): string {
  const cipher = createDecipheriv("aes-256-gcm", keyOf(key), iv)
    .setAAD(Buffer.from(JSON.stringify([place.runId, place.at])))
    .setAuthTag(tag);
  return cipher.update(body, undefined, "utf8") + cipher.final("utf8");
}
