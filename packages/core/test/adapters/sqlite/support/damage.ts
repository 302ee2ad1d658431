/** Ways in which files suffer: cut off, bits flipped, sectors lost or written in the wrong place. */

const pageSize = 4_096;
const frameSize = pageSize + 24;
const sector = 512;

/** Where the log ends: what lies behind it are frames of a former round, with other salts. */
export function endOfLog(log: Buffer): number {
  const salts = log.subarray(16, 24);
  let end = 32;
  while (end + frameSize <= log.length && log.subarray(end + 8, end + 16).equals(salts)) end += frameSize;
  return end;
}

/** One damaged copy of the first `end` bytes' worth of a file. */
export function damage(whole: Buffer, end: number, random: () => number): Buffer {
  const offset = place(end, random);
  const kind = random();
  if (kind < 0.35) return whole.subarray(0, offset);
  const changed = Buffer.from(whole);
  if (kind < 0.75) flip(changed, offset, random);
  // Several at once, all over the place.
  else if (kind < 0.8) for (let n = 0; n < 12; n++) flip(changed, Math.floor(random() * end), random);
  // A sector that was not written: zeros, or what stood elsewhere.
  else if (kind < 0.9) changed.fill(0, offset, Math.min(end, offset + sector));
  else {
    const from = Math.floor((random() * end) / sector) * sector;
    changed.copyWithin(Math.floor(offset / sector) * sector, from, from + sector);
  }
  return changed;
}

function flip(bytes: Buffer, offset: number, random: () => number): void {
  bytes[offset] = (bytes[offset] as number) ^ (1 << Math.floor(random() * 8));
}

/** Anywhere; or near the end, where a power cut does it; or in the first bytes of a page, which hold its structure. */
function place(end: number, random: () => number): number {
  const kind = random();
  const start = kind < 0.3 ? Math.max(0, end - 12 * frameSize) : 0;
  const offset = start + Math.floor(random() * (end - start));
  if (kind < 0.75) return offset;
  return Math.min(end - 1, Math.floor(offset / pageSize) * pageSize + Math.floor(random() * 110));
}
