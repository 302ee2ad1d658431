/**
 * CRC-32 of a text in UTF-8, as `crc32` of `node:zlib` computes it. That module takes longer to load than a first run takes
 * for all its checksums, so short texts are summed here.
 */

/** From here on, the module is quicker even if it has to be loaded. */
const short = 4_096;

const table = new Uint32Array(256);
for (let n = 0; n < 256; n++) {
  let sum = n;
  for (let bit = 0; bit < 8; bit++) sum = (sum & 1) === 0 ? sum >>> 1 : (sum >>> 1) ^ 0xed_b8_83_20;
  table[n] = sum;
}

/** `start` is the sum of what comes before the text. */
export function crc32(text: string, start = 0): number {
  if (text.length > short) return native(text, start);
  let sum = ~start;
  for (let n = 0; n < text.length; n++) {
    const code = text.charCodeAt(n);
    // Other characters have several bytes.
    if (code > 0x7f) return native(text, start);
    sum = (sum >>> 8) ^ (table[(sum ^ code) & 0xff] as number);
  }
  return ~sum >>> 0;
}

function native(text: string, start: number): number {
  return process.getBuiltinModule("node:zlib").crc32(text, start);
}
