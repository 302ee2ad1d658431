/** Keeps what runs record from whoever can read the storage. `aesGcm` of @durable/core/encryption is one. */

/** Where a sealed text stands. It opens there and nowhere else. */
export interface Place {
  /** The run it belongs to; empty for blobs, which runs share. */
  readonly runId: string;
  /** Position, key and field; for a blob, its name. */
  readonly at: string;
}

/** Seals texts before they are stored, and opens them where they stand. */
export interface Cipher {
  seal(text: string, place: Place): Promise<string>;
  /** Rejects with `no-key` when the key is not at hand, and with `tampered` when this is not what was sealed here. */
  open(sealed: string, place: Place): Promise<string>;
  /** A name for content that tells nothing of it to those without the key. Equal content, equal name. */
  nameOf(content: string): string;
  /** True while journals from before there was a cipher may still be read. */
  readonly acceptsPlain: boolean;
}
