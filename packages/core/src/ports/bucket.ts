/**
 * The port of an object store: five operations on texts under keys, ordered by their characters.
 *
 * A promise that rejects says that the outcome is not known, or that nothing was done: whoever asked asks again, with
 * the same bytes. `storage-busy` and errors that are not ours pass; every other `DurableError` is final.
 */

export interface BucketQuery {
  readonly prefix: string;
  /** Only keys that come after this one. */
  readonly after?: string;
  readonly limit?: number;
}

export interface BucketPage {
  /** In order; at least one when there are `more`. */
  readonly keys: readonly string[];
  readonly more: boolean;
}

export interface Bucket {
  /** The text under a key, `null` when there is none. Sees every write that was acknowledged before. */
  get(key: string): Promise<string | null>;
  /** Writes only where there is nothing: true when it did, false when there was something. Safety rests on this alone. */
  create(key: string, text: string): Promise<boolean>;
  /** Writes over what is there. */
  put(key: string, text: string): Promise<void>;
  /** May lag behind, and may give fewer than asked for: only lists of runs are made from it. */
  list(query: BucketQuery): Promise<BucketPage>;
  /** What is not there is deleted already. */
  delete(keys: readonly string[]): Promise<void>;
}
