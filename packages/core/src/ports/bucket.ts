/**
 * The port of an object store: five operations on texts under keys, which sort by their characters.
 * Every bucket passes `bucketConformance` of @durable/testing.
 */

/** Which keys `list` returns. */
export interface BucketQuery {
  readonly prefix: string;
  /** Only keys that sort after this one. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/** A page of keys. */
export interface BucketPage {
  /** Sorted; at least one when there are `more`. */
  readonly keys: readonly string[];
  readonly more: boolean;
}

/**
 * The port of an object store: five operations on texts under keys. A promise that rejects means that the
 * outcome is unknown or that nothing was done; the caller repeats the request with the same bytes.
 * `storage-busy` and foreign errors are repeated, any other `DurableError` is final.
 */
export interface Bucket {
  /** The text under a key, `null` if there is none. Sees every write that was acknowledged before. */
  get(key: string): Promise<string | null>;
  /**
   * Writes only if the key is free: true when it wrote, false when the key was taken. Safety rests on this
   * operation alone.
   */
  create(key: string, text: string): Promise<boolean>;
  /** Writes, and replaces what is there. */
  put(key: string, text: string): Promise<void>;
  /** May lag, and may return fewer keys than asked for: only lists of runs depend on it. */
  list(query: BucketQuery): Promise<BucketPage>;
  /** Deletes keys. A missing key is not an error. */
  delete(keys: readonly string[]): Promise<void>;
}
