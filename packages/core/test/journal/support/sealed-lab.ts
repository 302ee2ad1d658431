/** Journals under a cipher: virtual time that waits for it, and copies of a storage in which something was changed. */

import { MemoryStorage } from "@durable/core";
import type { Chain, Cipher } from "@durable/core/storage";
import { aesGcm } from "@durable/core/encryption";
import { virtualWorld } from "@durable/testing";
import { secret, type Lab } from "../../support/behaviour-lab.ts";
import { heads } from "../../support/worker-runs.ts";
import { notedCipher, notes } from "./noted-cipher.ts";

const keys = {
  k1: Uint8Array.from({ length: 32 }, (_, at) => at + 1),
  k2: Uint8Array.from({ length: 32 }, (_, at) => at + 2),
  // Another key under an id that others use as well.
  other: Uint8Array.from({ length: 32 }, (_, at) => at + 9),
};

/** Seals with the first of the ids, and opens what any of them sealed. */
export function cipherOf(...ids: readonly ("k1" | "k2")[]): Cipher {
  return aesGcm({ current: ids[0] ?? "", keys: Object.fromEntries(ids.map((id) => [id, keys[id]])) });
}

export const wrongCipher: Cipher = aesGcm({ current: "k1", keys: { k1: keys.other } });
export const lenientCipher: Cipher = aesGcm({ current: "k1", keys: { k1: keys.k1 }, acceptPlain: true });

/** Without seals of batches, so that the values are all that protects a journal. */
export function unchained(cipher: Cipher): Cipher {
  const chain: Chain = { check: () => Promise.resolve(), sign: (batch) => Promise.resolve(batch) };
  return { ...cipher, chain: () => chain };
}

export interface SealedLab extends Lab {
  readonly storage: MemoryStorage;
  readonly encryption: Cipher;
  /** The same place for a process that has another cipher. */
  under(cipher: Cipher): SealedLab;
}

/** Web Crypto works in threads of its own: virtual time waits for it. */
export function sealedLab(cipher: Cipher = cipherOf("k1")): SealedLab {
  const noting = notes();
  const world = virtualWorld({ hold: noting.hold });
  const storage = new MemoryStorage({ now: () => world.now() });
  const under = (given: Cipher): SealedLab => {
    const lab: Omit<SealedLab, "under"> = {
      world,
      storage,
      secret,
      encryption: notedCipher(given, noting),
    };
    // Not one of the options that a lab is spread into.
    return Object.defineProperty(lab as SealedLab, "under", { value: under });
  };
  return under(cipher);
}

export type StoredEntry = Record<string, unknown> & { kind: string };

/** What a run is in its storage: batches as they are written, and bodies of blobs by name. */
export interface Stored {
  batches: { v: number; by: string; entries: StoredEntry[] }[];
  blobs: Record<string, string>;
}

export async function storedRuns(storage: MemoryStorage): Promise<Map<string, Stored>> {
  const runs = new Map<string, Stored>();
  for (const { runId, locator } of await heads(storage)) {
    const { batches, blobs = {} } = await storage.read(locator);
    runs.set(runId, {
      batches: batches.map((text) => JSON.parse(text) as Stored["batches"][0]),
      blobs: { ...blobs },
    });
  }
  return runs;
}

/** The same runs in another storage, with something changed by whoever can write to it. */
export async function changedCopy(
  lab: SealedLab,
  change: (runs: Map<string, Stored>) => void,
): Promise<SealedLab> {
  const runs = await storedRuns(lab.storage);
  change(runs);
  const storage = new MemoryStorage({ now: () => lab.world.now() });
  for (const head of (await heads(lab.storage)).toReversed()) {
    const { batches, blobs } = runs.get(head.runId) as Stored;
    const named = Object.entries(blobs).map(([name, body]) => ({ name, body }));
    for (const [position, batch] of batches.entries()) {
      const request = { locator: head.locator, position, head, batch: JSON.stringify(batch) };
      await storage.append({ ...request, ...(position === 0 ? { blobs: named } : {}) });
    }
  }
  return { ...lab, storage };
}

/** The first entry of a kind, of a key if there is one. */
export function entryOf({ batches }: Stored, kind: string, key?: string): StoredEntry {
  const found = batches
    .flatMap(({ entries }) => entries)
    .find((entry) => entry.kind === kind && (key === undefined || entry["key"] === key));
  if (found === undefined) throw new Error(`There is no ${kind} ${key ?? ""}.`);
  return found;
}

/** Two fields of two entries change places. */
export function swap(a: StoredEntry, fieldOfA: string, b: StoredEntry, fieldOfB = fieldOfA): void {
  [a[fieldOfA], b[fieldOfB]] = [b[fieldOfB], a[fieldOfA]];
}
