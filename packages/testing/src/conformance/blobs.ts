/**
 * Blobs: written with the batch that names them, stored once, and removed with the last run that names them.
 * Proven in test/conformance.test.ts.
 */

import type { RunHead, Storage } from "@durable/core";
import type { AppendRequest, NamedBlob } from "@durable/core/storage";
import { expect } from "vitest";
import { expectOneWinner, headOf, refused, request, text, type Checks, type Subject } from "./subject.ts";

export function naming(head: RunHead, position: number, blobs: readonly NamedBlob[]): AppendRequest {
  return { ...request(head, position), blobs };
}

/** A new run whose first batch names these. */
export async function createNaming(
  subject: Subject,
  blobs: readonly NamedBlob[],
  changes: Partial<RunHead> = {},
): Promise<RunHead> {
  const head = headOf((subject.clock.now += 1), changes);
  await subject.storage.append(naming(head, 0, blobs));
  return head;
}

export async function blobsOf(
  storage: Storage,
  { locator }: RunHead,
  from?: number,
): Promise<Readonly<Record<string, string>>> {
  return (await storage.read(locator, from)).blobs ?? {};
}

/** Whether the storage has a blob: only then may a run name it without its body. */
export async function isKept({ storage, clock }: Subject, name: string): Promise<boolean> {
  const head = headOf(clock.now);
  try {
    await storage.append(naming(head, 0, [{ name }]));
  } catch (error) {
    expect(error).toMatchObject({ name: "DurableError", code: "storage-failed" });
    return false;
  }
  await storage.delete(head.locator);
  return true;
}

function createFork(subject: Subject, parent: RunHead, blobs: readonly NamedBlob[] = []): Promise<RunHead> {
  return createNaming(subject, blobs, { parent: parent.runId, ancestors: [parent.locator] });
}

const a: NamedBlob = { name: "blob-a", body: "body of a" };
const b: NamedBlob = { name: "blob-b", body: "body of b" };
const c: NamedBlob = { name: "blob-c", body: "body of c" };

const written: Checks = {
  "a blob is read with the batch that was the first to name it": async (subject) => {
    const { storage } = subject;
    const head = await subject.create();
    await storage.append(naming(head, 1, [a]));
    await storage.append(request(head, 2));
    await storage.append(naming(head, 3, [b, { name: "blob-a" }, c]));
    await storage.append(naming(head, 4, [a, { name: "blob-b" }]));
    const all = { "blob-a": "body of a", "blob-b": "body of b", "blob-c": "body of c" };
    const { "blob-a": _, ...late } = all;
    for (const [from, expected] of [all, all, late, late, {}, {}, {}].entries())
      expect(await blobsOf(storage, head, from), `from ${from}`).toEqual(expected);
    expect(await storage.read(head.locator)).toMatchObject({ batches: [0, 1, 2, 3, 4].map(text), length: 5 });
  },

  "a run that names no blob has none": async (subject) => {
    await createNaming(subject, [a, b]);
    const none = await createNaming(subject, []);
    expect(await blobsOf(subject.storage, none)).toEqual({});
    expect(await blobsOf(subject.storage, headOf(1))).toEqual({});
  },

  "a blob is kept once: a second body under its name is ignored": async (subject) => {
    const first = await createNaming(subject, [a]);
    const second = await createNaming(subject, [{ name: "blob-a", body: "another body" }]);
    for (const head of [first, second])
      expect(await blobsOf(subject.storage, head)).toEqual({ "blob-a": "body of a" });
  },

  "a blob that is named twice in one append is one": async (subject) => {
    const head = await createNaming(subject, [{ name: "blob-a" }, a, a, { name: "blob-a" }]);
    expect(await blobsOf(subject.storage, head)).toEqual({ "blob-a": "body of a" });
    await subject.storage.delete(head.locator);
    expect(await isKept(subject, "blob-a")).toBe(false);
  },

  "a fork names a blob of its parent without the body": async (subject) => {
    const parent = await createNaming(subject, [a, b]);
    const fork = await createFork(subject, parent, [{ name: "blob-a" }]);
    expect(await blobsOf(subject.storage, fork)).toEqual({ "blob-a": "body of a" });
    expect(await blobsOf(subject.storage, fork, 1)).toEqual({});
  },

  "a blob is seen by a second handle with the batch that names it": async (subject) => {
    const second = await subject.second();
    const head = await createNaming(subject, [a]);
    expect(await blobsOf(second, head)).toEqual({ "blob-a": "body of a" });
    await second.append(naming(head, 1, [{ name: "blob-a" }, b]));
    expect(await blobsOf(subject.storage, head, 1)).toEqual({ "blob-b": "body of b" });
  },
};

const refusals: Checks = {
  "a blob without a body that is not there is refused, and nothing is written": async (subject) => {
    const { storage, clock } = subject;
    const kept = await subject.create({}, { owner: "a", ttlMs: 1_000 });
    for (const [head, position] of [
      [{ ...kept, steps: 7 }, 1],
      [headOf(clock.now), 0],
    ] as const) {
      const append = storage.append({ ...naming(head, position, [b, { name: "blob-a" }, c]), lease: null });
      await expect(append).rejects.toThrow(/blob-a/);
      await expect(append).rejects.toThrow(head.runId);
      await refused(append, "storage-failed");
      expect((await storage.read(head.locator)).length).toBe(position);
    }
    expect((await subject.list()).runs).toEqual([kept]);
    expect(await storage.lease(kept.locator, "b", 1_000), "the lease was not given back").toBeNull();
    for (const { name } of [a, b, c]) expect(await isKept(subject, name), `${name} is kept`).toBe(false);
    await storage.append(naming(kept, 1, [b, a, c]));
    expect(Object.keys(await blobsOf(storage, kept, 1))).toHaveLength(3);
  },

  "an append that is refused with conflict writes no blob and names none": async (subject) => {
    const { storage } = subject;
    const owner = await createNaming(subject, [a]);
    const late = await subject.createLong(2);
    for (const position of [0, 1, 3])
      await refused(storage.append(naming(late, position, [a, b])), "conflict");
    expect(await blobsOf(storage, late)).toEqual({});
    expect(await isKept(subject, "blob-b"), "no body was written").toBe(false);
    await storage.delete(owner.locator);
    expect(await isKept(subject, "blob-a"), "nor was it named").toBe(false);
  },

  "an append to a journal that has moved is a conflict, whatever it names": async (subject) => {
    const { storage } = subject;
    const moved = await subject.createLong(3);
    const gone = await createNaming(subject, [a]);
    await storage.delete(gone.locator);
    const unknown = [{ name: "never written" }];
    for (const position of [0, 2, 4])
      await refused(storage.append(naming(moved, position, unknown)), "conflict");
    await refused(storage.append(naming(gone, 1, unknown)), "conflict");
    await expect(createFork(subject, gone, unknown)).rejects.toMatchObject({ details: { deleted: true } });
    const hidden = await subject.create();
    await createFork(subject, hidden);
    await storage.delete(hidden.locator);
    await expect(storage.append(naming(hidden, 1, unknown))).rejects.toMatchObject({
      code: "conflict",
      details: { deleted: true },
    });
  },

  "of 32 appends at one position, only the winner's blob is kept": async (subject) => {
    const { storage } = subject;
    const head = await subject.create();
    const blobs = Array.from({ length: 32 }, (_, n) => ({ name: `of-writer-${n}`, body: `body ${n}` }));
    const winner = await expectOneWinner(blobs.map((blob) => storage.append(naming(head, 1, [blob]))));
    expect(await blobsOf(storage, head)).toEqual({ [`of-writer-${winner}`]: `body ${winner}` });
    for (const [n, { name }] of blobs.entries())
      expect(await isKept(subject, name), `${name} is kept`).toBe(n === winner);
  },
};

const freed: Checks = {
  "delete keeps a blob that another run names, and frees it with the last": async (subject) => {
    const { storage } = subject;
    const one = await createNaming(subject, [a, b]);
    const two = await createNaming(subject, [{ name: "blob-a" }]);
    await storage.append(naming(one, 1, [{ name: "blob-a" }]));
    await storage.delete(one.locator);
    expect(await blobsOf(storage, two)).toEqual({ "blob-a": "body of a" });
    expect(await blobsOf(storage, one)).toEqual({});
    expect(await isKept(subject, "blob-b"), "the last that named it has gone").toBe(false);
    expect(await isKept(subject, "blob-a")).toBe(true);
    await storage.delete(two.locator);
    expect(await isKept(subject, "blob-a")).toBe(false);
    const three = await createNaming(subject, [{ name: "blob-a", body: "after all had gone" }]);
    expect(await blobsOf(storage, three), "nothing of it was left").toEqual({
      "blob-a": "after all had gone",
    });
  },

  "delete keeps the blobs of a hidden run while a fork reads it": async (subject) => {
    const { storage } = subject;
    const parent = await createNaming(subject, [a]);
    await storage.append(naming(parent, 1, [b]));
    const fork = await createFork(subject, parent);
    await storage.delete(parent.locator);
    expect(await storage.read(parent.locator)).toMatchObject({ length: 2, deleted: true });
    expect(await blobsOf(storage, parent)).toEqual({ "blob-a": "body of a", "blob-b": "body of b" });
    expect(await blobsOf(storage, parent, 1)).toEqual({ "blob-b": "body of b" });
    await storage.append(naming(fork, 1, [{ name: "blob-b" }]));
    await storage.delete(fork.locator);
    for (const { name } of [a, b]) expect(await isKept(subject, name), `${name} is kept`).toBe(false);
  },

  "delete of a fork keeps the blobs of its parent": async (subject) => {
    const { storage } = subject;
    const parent = await createNaming(subject, [a]);
    const fork = await createFork(subject, parent, [{ name: "blob-a" }, b]);
    await storage.delete(fork.locator);
    expect(await blobsOf(storage, parent)).toEqual({ "blob-a": "body of a" });
    expect(await isKept(subject, "blob-b")).toBe(false);
  },

  "delete leaves no blob behind for a new run of the same id (H17)": async (subject) => {
    const { storage, clock } = subject;
    const old = await createNaming(subject, [a]);
    const other = await createNaming(subject, [a]);
    await storage.delete(old.locator);
    const reborn = { ...old, createdAt: (clock.now += 1) };
    await storage.append(request(reborn, 0));
    expect(await blobsOf(storage, reborn)).toEqual({});
    await storage.append(naming(reborn, 1, [{ name: "blob-a" }]));
    expect(await blobsOf(storage, reborn, 1), "named by this life at 1").toEqual({ "blob-a": "body of a" });
    await storage.delete(other.locator);
    expect(await blobsOf(storage, reborn)).toEqual({ "blob-a": "body of a" });
  },

  "delete and an append that names the same blob at once: named and there, or refused": async (subject) => {
    const second = await subject.second();
    for (let n = 0; n < 24; n++) {
      const name = `contested-${n}`;
      const last = await createNaming(subject, [{ name, body: name }]);
      const head = headOf(subject.clock.now);
      const [one, other] = n % 2 === 0 ? [subject.storage, second] : [second, subject.storage];
      const [, append] = await Promise.allSettled([
        one.delete(last.locator),
        other.append(naming(head, 0, [{ name }])),
      ]);
      if (append.status === "rejected") await refused(Promise.reject(append.reason), "storage-failed");
      const expected = append.status === "fulfilled" ? { [name]: name } : {};
      expect(await blobsOf(one, head)).toEqual(expected);
      expect(await isKept(subject, name)).toBe(append.status === "fulfilled");
    }
  },

  "many runs that name a blob at once share it until the last has gone": async (subject) => {
    const { storage } = subject;
    const heads = Array.from({ length: 40 }, () => headOf(subject.clock.now));
    await Promise.all(heads.map((head) => storage.append(naming(head, 0, [a]))));
    for (const head of heads) {
      expect(await blobsOf(storage, head)).toEqual({ "blob-a": "body of a" });
      await storage.delete(head.locator);
    }
    expect(await isKept(subject, "blob-a")).toBe(false);
  },
};

export const blobChecks: Checks = { ...written, ...refusals, ...freed };
