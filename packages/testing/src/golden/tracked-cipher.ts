/**
 * A cipher that virtual time waits for, because encryption runs in real time on other threads. Proven in
 * test/golden-work.test.ts.
 */

import type { Chain, Cipher } from "@durable/core/storage";

export interface TrackedCipher {
  readonly cipher: Cipher | undefined;
  /** For `virtualWorld`: waits for running work, and returns whether there was any. */
  readonly hold: () => Promise<boolean>;
}

export function trackedCipher(cipher: Cipher | undefined): TrackedCipher {
  const pending = new Set<Promise<unknown>>();
  const noted = <T>(work: Promise<T>): Promise<T> => {
    pending.add(work);
    const over = (): void => void pending.delete(work);
    work.then(over, over);
    return work;
  };
  const hold = async (): Promise<boolean> => {
    if (pending.size === 0) return false;
    await Promise.allSettled(pending);
    return true;
  };
  if (cipher === undefined) return { cipher, hold };
  const seal: Cipher["seal"] = (text, place) => noted(cipher.seal(text, place));
  const open: Cipher["open"] = (sealed, place) => noted(cipher.open(sealed, place));
  const chain = (): Chain => {
    const own = cipher.chain();
    return {
      check: (batches, spot) => noted(own.check(batches, spot)),
      sign: (batch, spot) => noted(own.sign(batch, spot)),
    };
  };
  const { acceptsPlain } = cipher;
  return { cipher: { seal, open, nameOf: (content) => cipher.nameOf(content), acceptsPlain, chain }, hold };
}
