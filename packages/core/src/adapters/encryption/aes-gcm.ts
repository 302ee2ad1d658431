/**
 * AES-256-GCM on Web Crypto. A sealed text is `format.keyId.body`; the body is nonce, ciphertext and tag.
 *
 * aes-gcm.1. It opens at its place alone: format, run, place and key id are authenticated with it.
 * aes-gcm.2. Every run has its own key, made from the master key and the run's id, so that random nonces stay far
 *     from their limit of 2^32 per key. Keys of runs, of names and of tokens are made under different labels.
 * aes-gcm.3. Each sealed text has one spelling: with any character changed it does not open.
 * aes-gcm.4. A text comes back exactly. UTF-8 has no halves of surrogate pairs: a text with such is sealed as JSON.
 */

import type { Cipher, Place } from "../../ports/cipher.ts";
import { DurableError } from "../../values/errors.ts";
import { base32, hmac, joinParts } from "../../values/hash.ts";
import { fromBase64Url, toBase64Url } from "./base64url.ts";
import { isKeyId, masterKeys, type AesGcmOptions } from "./options.ts";

/** The text itself, or its JSON. */
type Format = "1" | "1j";

const nonceBytes = 12;
const tagBytes = 16;
const cachedKeys = 1_000;
const utf8 = new TextEncoder();
// What looks like a byte order mark is a character like any other.
const fromUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Encrypts journals with AES-256-GCM: new values with the key `current`; any of `keys` decrypts. */
export function aesGcm(options: AesGcmOptions): Cipher {
  const { current, keys } = masterKeys(options);
  const keyOf = runKeys(keys);
  const nameKey = toBase64Url(hmac(keys.get(current) as string, joinParts(["durable names v1"])));
  return {
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
    // The first letter keeps a text apart from one that reads like its JSON.
    nameOf: (content) =>
      base32(hmac(nameKey, content.isWellFormed() ? `1${content}` : `j${JSON.stringify(content)}`), 32),
  };
}

/** Keys of runs, the latest used ones kept: importing one takes longer than sealing a short text. */
function runKeys(masters: ReadonlyMap<string, string>): (keyId: string, runId: string) => Promise<CryptoKey> {
  const cache = new Map<string, Promise<CryptoKey>>();
  return (keyId, runId) => {
    const id = `${keyId}.${runId}`;
    const found = cache.get(id) ?? importKey(masters.get(keyId) as string, runId);
    // Taken out and put in again, so that the one that was not used for longest stands first.
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
  // Of four parts one is too many; a hostile text may have millions.
  const [format, keyId, text = "", ...more] = typeof sealed === "string" ? sealed.split(".", 4) : [];
  const body = fromBase64Url(text);
  const known = (format === "1" || format === "1j") && isKeyId(keyId) && more.length === 0;
  if (!known || body === null || body.length < nonceBytes + tagBytes) throw tampered(place);
  return { format, keyId, body };
}

function noKey(keyId: string, place: Place): DurableError {
  return new DurableError(
    "no-key",
    `${titleOf(place)} was sealed with key "${keyId}", which this process does not have. Add it to the \`keys\` of aesGcm.`,
    { details: { keyId, ...place } },
  );
}

function tampered(place: Place, keyId?: string): DurableError {
  const [how, details] =
    keyId === undefined ? ["is no sealed text", {}] : [`does not open with key "${keyId}"`, { keyId }];
  return new DurableError(
    "tampered",
    `${titleOf(place)} ${how}: it was changed, moved from another place, or sealed with another key. Restore the journal from a backup, or put the right key under this id.`,
    { details: { ...details, ...place } },
  );
}

function titleOf({ runId, at }: Place): string {
  return runId === "" ? `The blob ${at}` : `What run ${runId} keeps at ${at}`;
}
