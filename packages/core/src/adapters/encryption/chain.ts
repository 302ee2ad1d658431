/**
 * The seals of a journal's batches. A seal is an encrypted empty text, bound to run, position and the digest of the batch.
 *
 * chain.1. A seal covers the whole text of its batch and the seal before it, which stands in the text. So batches cannot be
 *     changed, added, removed from the middle, reordered, or moved to another run or position.
 * chain.2. A batch without a seal is refused, unless a later seal covers it. The first seal after batches from before
 *     encryption covers all of them.
 * chain.3. The first batch of a journal follows no seal. A read that begins later takes the seal before it from the text.
 */

import type { Chain, Cipher, Spot } from "../../ports/cipher.ts";
import { DurableError } from "../../values/errors.ts";
import { digest } from "../../values/hash.ts";

/** How a batch ends that has a seal, and how long that end may be. */
const ending = /,"after":"([^"]{0,1000})","seal":"([^"]{1,1000})"\}$/;
const longestEnd = 2_100;
/** Base32 characters of a whole SHA-256. */
const digestLength = 52;

/** A sealed batch, in its parts: what the seal covers, the seal before, and the seal. */
interface Sealed {
  readonly covered: string;
  readonly after: string;
  readonly seal: string;
}

/** The chain of a cipher. */
export function chainOf(cipher: Pick<Cipher, "seal" | "open" | "acceptsPlain">): Chain {
  /** The latest seal, or the digest of all batches up to here if none has a seal. */
  let last = "";
  let next = 0;
  let chained = false;
  let own = "";

  /** Batches that no seal covers are accepted only as what was written before encryption was on. */
  const mayEndOpen = (texts: readonly string[]): boolean =>
    cipher.acceptsPlain && !texts.some((text) => text.includes('{"$":"sealed"'));

  return {
    async check(texts, { runId, position }) {
      const seals: { readonly parts: Sealed; readonly spot: Spot }[] = [];
      const open =
        texts.length > 0 && partsOf(texts.at(-1) as string) === null && (chained || !mayEndOpen(texts));
      if (open) throw unsealed(runId, position + texts.length - 1);
      for (const [i, text] of texts.entries()) {
        const spot = { runId, position: position + i };
        const parts = partsOf(text);
        if (parts === null && chained) throw unsealed(runId, spot.position);
        // The batches before a read that begins later are known only from the text, which the seal covers.
        if (parts !== null && spot.position === next && parts.after !== last) throw moved(spot);
        if (parts !== null && text !== own) seals.push({ parts, spot });
        last = parts?.seal ?? digest(digestLength, last, text);
        chained ||= parts !== null;
        next = spot.position + 1;
      }
      const opened = seals.map(({ parts, spot }) => opens(cipher, parts, spot));
      // If several do not fit, always report the first.
      await Promise.allSettled(opened);
      await Promise.all(opened);
    },
    async sign(text, spot) {
      const covered = `${text.slice(0, -1)},"after":"${last}"`;
      own = `${covered},"seal":"${await cipher.seal("", placeOf(covered, spot))}"}`;
      return own;
    },
  };
}

async function opens(cipher: Pick<Cipher, "open">, { covered, seal }: Sealed, spot: Spot): Promise<void> {
  try {
    await cipher.open(seal, placeOf(covered, spot));
  } catch (cause) {
    const { runId, position } = spot;
    const [code, why] = DurableError.is(cause, "no-key")
      ? ([
          "no-key",
          "is sealed with a key that this process does not have. Add it to the `keys` of aesGcm",
        ] as const)
      : ([
          "tampered",
          "was changed, moved, or sealed with another key. Check the key first; then restore the journal from a backup",
        ] as const);
    throw new DurableError(code, `Batch ${position} of run ${runId} ${why}.`, {
      cause,
      details: { runId, position },
    });
  }
}

function partsOf(text: string): Sealed | null {
  const [found, after = "", seal = ""] = ending.exec(text.slice(-longestEnd)) ?? [];
  if (found === undefined) return null;
  const covered = text.slice(0, text.length - found.length + `,"after":"${after}"`.length);
  return { covered, after, seal };
}

function placeOf(covered: string, { runId, position }: Spot): { runId: string; at: string } {
  return { runId, at: `batch ${position} ${digest(digestLength, covered)}` };
}

function unsealed(runId: string, position: number): DurableError {
  return new DurableError(
    "tampered",
    `Batch ${position} of run ${runId} has no seal. Restore the journal from a backup. If it is older than encryption, pass acceptPlain: true to aesGcm.`,
    { details: { runId, position } },
  );
}

function moved({ runId, position }: Spot): DurableError {
  return new DurableError(
    "tampered",
    `Batch ${position} of run ${runId} does not follow the batch before it. Restore the journal from a backup.`,
    { details: { runId, position } },
  );
}
