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
  /** A new chain, for the batches of one journal. `chainOf` makes one from any cipher. */
  chain(): Chain;
}

/** The seals of the batches of one journal. Each covers its batch, its run and position, and the seal before it. */
export interface Chain {
  /**
   * Verifies batches, the first of which is at this position. Rejects with `tampered` or `no-key`; until it
   * resolves, nothing in them is believed.
   */
  check(batches: readonly string[], spot: Spot): Promise<void>;
  /** The batch with its seal, to be appended after what was checked. */
  sign(batch: string, spot: Spot): Promise<string>;
}

/** The run of a batch, and its position in the journal. */
export interface Spot {
  readonly runId: string;
  readonly position: number;
}
