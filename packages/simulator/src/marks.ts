/**
 * Nonces whose marks differ. The mark is the first two characters of the waits of a run or chapter, by which an old
 * token is told from an early one; by chance, one in 1,024 lives or chapters of an id has the mark of another.
 * Then an old answer is kept as an early one, which is harmless, but looks wrong to the checks.
 */

import { createHash } from "node:crypto";

export class Marks {
  readonly #used = new Set<string>();

  /** A nonce whose mark no other life or chapter of this run has. The name is the id, and perhaps a chapter. */
  nonce(name: string, draw: () => string): string {
    const [id = ""] = name.split(" ");
    for (let tries = 1; ; tries++) {
      const nonce = draw();
      const used = `${id} ${markOf(nonce)}`;
      // There are only so many marks.
      if (this.#used.has(used) && tries < 1_000) continue;
      this.#used.add(used);
      return nonce;
    }
  }
}

/** Two base32 characters, as a number. */
function markOf(nonce: string): number {
  const text = `5:nonce${nonce.length}:${nonce}`;
  return createHash("sha256").update(text).digest().readUInt16BE() >> 6;
}
