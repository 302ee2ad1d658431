/** A bucket in this process's memory, for tests. It is also the reference that other buckets are compared with. */

import type { Bucket, BucketPage, BucketQuery } from "../../ports/bucket.ts";

const pageSize = 1_000;

/** A bucket in memory, for tests. */
export class MemoryBucket implements Bucket {
  readonly #texts = new Map<string, string>();
  /** All keys, sorted; built by the first list after a change. */
  #keys: readonly string[] | null = null;

  get(key: string): Promise<string | null> {
    return Promise.resolve(this.#texts.get(key) ?? null);
  }

  create(key: string, text: string): Promise<boolean> {
    if (this.#texts.has(key)) return Promise.resolve(false);
    this.#texts.set(key, text);
    this.#keys = null;
    return Promise.resolve(true);
  }

  put(key: string, text: string): Promise<void> {
    this.#texts.set(key, text);
    this.#keys = null;
    return Promise.resolve();
  }

  list({ prefix, after = "", limit = pageSize }: BucketQuery): Promise<BucketPage> {
    this.#keys ??= [...this.#texts.keys()].toSorted((a, b) => (a < b ? -1 : 1));
    const found = this.#keys.filter((key) => key.startsWith(prefix) && key > after);
    const keys = found.slice(0, Math.min(limit, pageSize));
    return Promise.resolve({ keys, more: keys.length < found.length });
  }

  delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#texts.delete(key);
    this.#keys = null;
    return Promise.resolve();
  }
}
