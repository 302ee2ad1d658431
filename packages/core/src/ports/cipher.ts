/** The port of encryption: hides what runs record from readers of the storage. `aesGcm` is an implementation. */

/** Where an encrypted text belongs. It can be decrypted only there. */
export interface Place {
  /** The run it belongs to; empty for blobs, which runs share. */
  readonly runId: string;
  /** Position, key and field; for a blob, its name. */
  readonly at: string;
}

/** Encrypts texts before they are stored, each bound to its place. */
export interface Cipher {
  /** Encrypts a text for this place. */
  seal(text: string, place: Place): Promise<string>;
  /**
   * Decrypts. Rejects with `no-key` when the key is missing, and with `tampered` when this text was not
   * encrypted for this place.
   */
  open(sealed: string, place: Place): Promise<string>;
  /** A name for content that reveals nothing without the key. Equal content has equal names. */
  nameOf(content: string): string;
  /** True while unencrypted journals may still be read. */
  readonly acceptsPlain: boolean;
}
