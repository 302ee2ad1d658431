/**
 * SHA-256, HMAC and base32, synchronous and small. Web Crypto is asynchronous and runs on a
 * thread pool: a token could not be a plain property, and a simulated schedule would not own it.
 */

const utf8 = new TextEncoder();
const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

function fractionalBits(root: (n: number) => number, count: number): Uint32Array {
  const words = new Uint32Array(count);
  for (let n = 2, found = 0; found < count; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (prime) words[found++] = Math.floor((root(n) % 1) * 2 ** 32);
  }
  return words;
}

const K = fractionalBits(Math.cbrt, 64);
const H = fractionalBits(Math.sqrt, 8);
const at = (words: Uint32Array, i: number): number => words[i] as number;

function compress(state: Uint32Array, block: DataView, offset: number, w: Uint32Array): void {
  for (let i = 0; i < 16; i++) w[i] = block.getUint32(offset + i * 4);
  for (let i = 16; i < 64; i++) {
    const x = at(w, i - 15);
    const y = at(w, i - 2);
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = at(w, i - 16) + s0 + at(w, i - 7) + s1;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + at(K, i) + at(w, i)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  const next = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < 8; i++) state[i] = at(state, i) + (next[i] as number);
}

export function sha256(data: Uint8Array | string): Uint8Array {
  const bytes = typeof data === "string" ? utf8.encode(data) : data;
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
  const state = H.slice();
  const w = new Uint32Array(64);
  for (let offset = 0; offset < padded.length; offset += 64) compress(state, view, offset, w);
  const out = new DataView(new ArrayBuffer(32));
  for (let i = 0; i < 8; i++) out.setUint32(i * 4, at(state, i));
  return new Uint8Array(out.buffer);
}

export function hmac(secret: string, message: string): Uint8Array {
  const raw = utf8.encode(secret);
  const key = new Uint8Array(64);
  key.set(raw.length > 64 ? sha256(raw) : raw);
  const text = utf8.encode(message);
  const inner = new Uint8Array(64 + text.length);
  const outer = new Uint8Array(64 + 32);
  for (let i = 0; i < 64; i++) {
    inner[i] = (key[i] as number) ^ 0x36;
    outer[i] = (key[i] as number) ^ 0x5c;
  }
  inner.set(text, 64);
  outer.set(sha256(inner), 64);
  return sha256(outer);
}

/** Lower-case base32 without padding, cut to `length` characters. */
export function base32(bytes: Uint8Array, length: number): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5 && text.length < length) {
      bits -= 5;
      text += alphabet[(held >>> bits) & 31];
      held &= (1 << bits) - 1;
    }
  }
  return text;
}

/** Each part carries its length, so that no two lists of parts give the same text. */
export function joinParts(parts: readonly (string | number)[]): string {
  return parts.map((part) => `${String(part).length}:${part}`).join("");
}

/** A short name for content: `length` base32 characters of its SHA-256. */
export function digest(length: number, ...parts: readonly (string | number)[]): string {
  return base32(sha256(joinParts(parts)), length);
}
