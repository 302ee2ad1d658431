/** Real time in virtual time: work on other threads is noted, and virtual time waits for it. */

import type { Cipher } from "@durable/core/storage";

export interface Notes {
  readonly noted: <T>(work: Promise<T>) => Promise<T>;
  /** For `virtualWorld`: waits for what is noted, and returns whether there was any. */
  readonly hold: () => Promise<boolean>;
}

export function notes(): Notes {
  const pending = new Set<Promise<unknown>>();
  return {
    noted: (work) => {
      pending.add(work);
      const over = (): void => void pending.delete(work);
      work.then(over, over);
      return work;
    },
    hold: async () => {
      if (pending.size === 0) return false;
      await Promise.allSettled(pending);
      return true;
    },
  };
}

export function notedCipher(cipher: Cipher, { noted }: Notes): Cipher {
  return {
    acceptsPlain: cipher.acceptsPlain,
    nameOf: (content) => cipher.nameOf(content),
    seal: (text, place) => noted(cipher.seal(text, place)),
    open: (sealed, place) => noted(cipher.open(sealed, place)),
    chain: () => {
      const chain = cipher.chain();
      return {
        check: (batches, spot) => noted(chain.check(batches, spot)),
        sign: (batch, spot) => noted(chain.sign(batch, spot)),
      };
    },
  };
}
