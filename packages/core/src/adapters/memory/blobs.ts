/**
 * Blobs in memory, each stored once. Proven in test/adapters/memory.test.ts.
 *
 * memory.3. A blob is kept exactly as long as a stored batch names it.
 */

import type { NamedBlob } from "../../ports/storage.ts";
import type { Kept, KeptBlob } from "./kept.ts";

export class MemoryBlobs {
  readonly #kept = new Map<string, KeptBlob>();

  has(name: string): boolean {
    return this.#kept.has(name);
  }

  /** Stores all bodies first, because a name without a body may come before the same name with its body. */
  name(
    { named }: Kept,
    { position, chapter }: { readonly position: number; readonly chapter: number },
    blobs: readonly NamedBlob[],
  ): void {
    for (const { name, body } of blobs)
      if (body !== undefined && !this.#kept.has(name)) this.#kept.set(name, { body, runs: 0 });
    for (const { name } of blobs) {
      const blob = this.#kept.get(name);
      if (blob === undefined) continue;
      const before = named.get(name);
      if (before === undefined) blob.runs += 1;
      if (before === undefined) named.set(name, { blob, positions: [position] });
      else if ((before.positions.at(-1) ?? 0) < chapter) before.positions.push(position);
    }
  }

  /** A run no longer names a blob. */
  unname({ named }: Kept, name: string): void {
    const blob = named.get(name)?.blob;
    named.delete(name);
    if (blob !== undefined && --blob.runs === 0) this.#kept.delete(name);
  }
}
