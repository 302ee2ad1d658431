/**
 * SHA-256, HMAC and base32, synchronous and small. Web Crypto is asynchronous and runs on a thread pool: a token could
 * not be a plain property, and the simulator could not control the schedule.
 */

const utf8 = new TextEncoder();
const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

/** Of the roots of the first primes. Runs at each start, in code that is not compiled yet: a sieve takes a tenth of divisions. */
function fractionalBits(root: (n: number) => number, count: number): Int32Array {
  const words = new Int32Array(count);
  const composite = new Uint8Array(312);
  for (let n = 2, found = 0; found < count; n++) {
    if (composite[n]) continue;
    for (let d = n * n; d < 312; d += n) composite[d] = 1;
    words[found++] = (root(n) % 1) * 2 ** 32;
  }
  return words;
}

const K = fractionalBits(Math.cbrt, 64);
const H = fractionalBits(Math.sqrt, 8);
const rotate = (x: number, n: number): number => (x >>> n) | (x << (32 - n));
/** Truncated to 32 bits after every addition, because a sum of three numbers becomes a float, at a third of the speed. */
const plus = (x: number, y: number): number => (x + y) | 0;

/** Filled anew for each block. */
const w = new Int32Array(64);

function compress(state: Int32Array, block: DataView, offset: number): void {
  for (let i = 0; i < 16; i++) w[i] = block.getInt32(offset + i * 4);
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15] as number;
    const y = w[i - 2] as number;
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w[i] = plus(plus(w[i - 16] as number, w[i - 7] as number), plus(s0, s1));
  }
  const at = (i: number): number => state[i] as number;
  let [a, b, c, d, e, f, g, h] = [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)];
  for (let i = 0; i < 64; i++) {
    const s1 = plus(rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25), (e & f) ^ (~e & g));
    const t1 = plus(plus(plus(h, K[i] as number), w[i] as number), s1);
    const t2 = plus(rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22), (a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = plus(d, t1);
    d = c;
    c = b;
    b = a;
    a = plus(t1, t2);
  }
  const words = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < 8; i++) state[i] = (state[i] as number) + (words[i] as number);
}

export function sha256(data: Uint8Array | string): Uint8Array {
  const bytes = typeof data === "string" ? utf8.encode(data) : data;
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  // The upper half of the length stays 0, because no input is near 512 MiB.
  view.setUint32(padded.length - 4, bytes.length * 8);
  const state = H.slice();
  for (let offset = 0; offset < padded.length; offset += 64) compress(state, view, offset);
  // The digest is big-endian on every machine.
  for (let i = 0; i < 8; i++) view.setInt32(i * 4, state[i] as number);
  return padded.subarray(0, 32);
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
  for (let i = 0; i < bytes.length && text.length < length; i++) {
    held = (held << 8) | (bytes[i] as number);
    bits += 8;
    while (bits >= 5 && text.length < length) {
      bits -= 5;
      text += alphabet[(held >>> bits) & 31];
      held &= (1 << bits) - 1;
    }
  }
  return text;
}

/** Joins parts, each with its length, so that no two lists of parts give the same text. */
export function joinParts(parts: readonly (string | number)[]): string {
  let text = "";
  for (const part of parts) text += `${String(part).length}:${part}`;
  return text;
}

/** A short name for content: `length` base32 characters of its SHA-256. */
export function digest(length: number, ...parts: readonly (string | number)[]): string {
  return base32(sha256(joinParts(parts)), length);
}
