/**
 * AES-256-GCM on Web Crypto. An encrypted text is `format.keyId.body`; the body is nonce, ciphertext and tag.
 *
 * aes-gcm.1. A text can be decrypted only at its place: format, run, place and key id are authenticated with it.
 * aes-gcm.2. Every run has its own key, derived from the master key and the run's id, so that random nonces stay far
 *     from their limit of 2^32 per key. Keys of runs, names and tokens are derived under different labels.
 * aes-gcm.3. An encrypted text has exactly one spelling: if any character is changed, decryption fails.
 * aes-gcm.4. A text comes back unchanged. UTF-8 cannot represent half of a surrogate pair, so such a text is encrypted
 *     as JSON.
 */

import type { Cipher, Place } from "../../ports/cipher.ts";
import { DurableError } from "../../values/errors.ts";
import { base32, hmac, joinParts } from "../../values/hash.ts";
import { chainOf } from "./chain.ts";
import { fromBase64Url, toBase64Url, isKeyId, masterKeys, type AesGcmOptions } from "./options.ts";

/** `1` is the text itself, `1j` its JSON. */
type Format = "1" | "1j";

const nonceBytes = 12;
const tagBytes = 16;
const cachedKeys = 1_000;
const utf8 = new TextEncoder();
// A leading U+FEFF is part of the text, not a byte order mark to remove.
const fromUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Encrypts journals with AES-256-GCM: new values with the key `current`; any of `keys` decrypts. */
export function aesGcm(options: AesGcmOptions): Cipher {
  const { current, keys } = masterKeys(options);
  const keyOf = runKeys(keys);
  const nameKey = toBase64Url(hmac(keys.get(current) as string, joinParts(["durable names v1"])));
  const cipher: Cipher = {
    acceptsPlain: options.acceptPlain === true,
    async seal(text, place) {
      const format: Format = text.isWellFormed() ? "1" : "1j";
      const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
      const how = terms(nonce, format, current, place);
      const plain = utf8.encode(format === "1" ? text : JSON.stringify(text));
      const sealed = await crypto.subtle.encrypt(how, await keyOf(current, place.runId), plain);
      const body = new Uint8Array(nonceBytes + sealed.byteLength);
      body.set(nonce);
      body.set(new Uint8Array(sealed), nonceBytes);
      return `${format}.${current}.${toBase64Url(body)}`;
    },
    async open(sealed, place) {
      const { format, keyId, body } = parse(sealed, place);
      if (!keys.has(keyId)) throw noKey(keyId, place);
      const how = terms(body.subarray(0, nonceBytes), format, keyId, place);
      const key = await keyOf(keyId, place.runId);
      const plain = await crypto.subtle.decrypt(how, key, body.subarray(nonceBytes)).catch(() => {
        throw tampered(place, keyId);
      });
      const text = fromUtf8.decode(plain);
      return format === "1" ? text : (JSON.parse(text) as string);
    },
    // The first letter distinguishes a text from one that is equal to the JSON of another.
    nameOf: (content) =>
      base32(hmac(nameKey, content.isWellFormed() ? `1${content}` : `j${JSON.stringify(content)}`), 32),
    chain: () => chainOf(cipher),
  };
  return cipher;
}

/** A cache of run keys, least recently used first: importing a key takes longer than encrypting a short text. */
function runKeys(masters: ReadonlyMap<string, string>): (keyId: string, runId: string) => Promise<CryptoKey> {
  const cache = new Map<string, Promise<CryptoKey>>();
  return (keyId, runId) => {
    const id = `${keyId}.${runId}`;
    const found = cache.get(id) ?? importKey(masters.get(keyId) as string, runId);
    // Removed and added again, so that the first key of the map is always the least recently used.
    cache.delete(id);
    cache.set(id, found);
    if (cache.size > cachedKeys) cache.delete(cache.keys().next().value as string);
    return found;
  };
}

function importKey(master: string, runId: string): Promise<CryptoKey> {
  const bytes = new Uint8Array(hmac(master, joinParts(["durable run key v1", runId])));
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

function terms(
  iv: Uint8Array<ArrayBuffer>,
  format: Format,
  keyId: string,
  { runId, at }: Place,
): AesGcmParams {
  const additionalData = utf8.encode(joinParts(["durable sealed", format, runId, at, keyId]));
  return { name: "AES-GCM", iv, additionalData, tagLength: tagBytes * 8 };
}

type Parsed = { readonly format: Format; readonly keyId: string; readonly body: Uint8Array<ArrayBuffer> };

function parse(sealed: unknown, place: Place): Parsed {
  // Split into at most four parts: a fourth part is already invalid, and a hostile text may have millions.
  const [format, keyId, text = "", ...more] = typeof sealed === "string" ? sealed.split(".", 4) : [];
  const body = fromBase64Url(text);
  const known = (format === "1" || format === "1j") && isKeyId(keyId) && more.length === 0;
  if (!known || body === null || body.length < nonceBytes + tagBytes) throw tampered(place);
  return { format, keyId, body };
}

function noKey(keyId: string, place: Place): DurableError {
  return new DurableError(
    "no-key",
    `${titleOf(place)} is encrypted with key "${keyId}", which this process does not have. Add it to the \`keys\` of aesGcm.`,
    { details: { keyId, ...place } },
  );
}

function tampered(place: Place, keyId?: string): DurableError {
  const [how, details] =
    keyId === undefined
      ? ["is not a text that aesGcm encrypted", {}]
      : [`cannot be decrypted with key "${keyId}"`, { keyId }];
  return new DurableError(
    "tampered",
    `${titleOf(place)} ${how}. It was changed, moved from another place, or encrypted with another key. Restore the journal from a backup, or pass the right key under this id.`,
    { details: { ...details, ...place } },
  );
}

function titleOf({ runId, at }: Place): string {
  return runId === "" ? `Blob ${at}` : `The record of run ${runId} at ${at}`;
}
