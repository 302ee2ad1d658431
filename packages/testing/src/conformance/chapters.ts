/**
 * Chapters: a run is read from the beginning of its current one, with the blobs that it refers to. Proven in
 * test/conformance.test.ts.
 */

import type { RunHead } from "@durable/core";
import type { NamedBlob } from "@durable/core/storage";
import { expect } from "vitest";
import { blobsOf, createNaming, naming } from "./blobs.ts";
import { request, text, type Checks, type Subject } from "./subject.ts";

export const texts = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, n) => text(from + n));

/** A run of this many batches; a chapter begins at each of these positions. */
export async function createChapters(
  subject: Subject,
  length: number,
  begins: readonly number[],
  changes: Partial<RunHead> = {},
): Promise<RunHead> {
  let head = await subject.create(changes);
  for (let position = 1; position < length; position++) {
    if (begins.includes(position)) head = { ...head, chapter: position };
    await subject.storage.append(request(head, position));
  }
  return head;
}

export function createFork(subject: Subject, parent: RunHead, from?: number): Promise<RunHead> {
  return subject.create({
    parent: parent.runId,
    ancestors: [parent.locator],
    ...(from === undefined ? {} : { readsFrom: [from] }),
  });
}

export const a: NamedBlob = { name: "blob-a", body: "body of a" };
export const b: NamedBlob = { name: "blob-b", body: "body of b" };
export const c: NamedBlob = { name: "blob-c", body: "body of c" };
const bodies: Readonly<Record<string, string>> = Object.fromEntries(
  [a, b, c].map(({ name, body = "" }) => [name, body]),
);

/** These of the three blobs, with their bodies. */
export function only(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [`blob-${name}`, bodies[`blob-${name}`] ?? ""]));
}

/** Chapters at 2 and 4: the first names a and b, the second a, c and b, the third c. */
export async function createWithBlobs(subject: Subject): Promise<RunHead> {
  const { storage } = subject;
  const head = await createNaming(subject, [a, b]);
  const [second, third] = [
    { ...head, chapter: 2 },
    { ...head, chapter: 4 },
  ];
  await storage.append(naming(head, 1, [{ name: "blob-a" }]));
  await storage.append(naming(second, 2, [{ name: "blob-a" }]));
  await storage.append(naming(second, 3, [c, { name: "blob-a" }, { name: "blob-b" }]));
  await storage.append(naming(third, 4, [{ name: "blob-c" }]));
  await storage.append(naming(third, 5, [{ name: "blob-c" }]));
  return third;
}

export const chapterChecks: Checks = {
  "readChapter gives the batches from the beginning of the chapter": async (subject) => {
    const readChapter = subject.optional("readChapter");
    const { storage } = subject;
    const head = await subject.createLong(3);
    expect(await readChapter(head.locator)).toMatchObject({ batches: texts(0, 3), length: 3, from: 0 });
    for (const [position, chapter] of [3, 3, 5, 6, 6].entries()) {
      await storage.append(request({ ...head, chapter }, position + 3));
      const expected = { batches: texts(chapter, position + 4), length: position + 4, from: chapter };
      expect(await readChapter(head.locator)).toMatchObject(expected);
    }
    expect(await storage.read(head.locator)).toMatchObject({ batches: texts(0, 8), length: 8 });
    expect((await storage.read(head.locator)).from, "nothing was dropped").toBeUndefined();
    expect(await storage.read(head.locator, 4)).toMatchObject({ batches: texts(4, 8), length: 8 });
  },

  "readChapter of an unknown run gives nothing, and of a hidden one says so": async (subject) => {
    const readChapter = subject.optional("readChapter");
    const nothing = { batches: [], length: 0, from: 0 };
    expect(await readChapter("nobodynobodynobody")).toMatchObject(nothing);
    const head = await createChapters(subject, 5, [3]);
    const fork = await createFork(subject, head);
    await subject.storage.delete(head.locator);
    const hidden = { batches: texts(3, 5), length: 5, from: 3, deleted: true };
    expect(await readChapter(head.locator)).toMatchObject(hidden);
    await subject.storage.delete(fork.locator);
    expect(await readChapter(head.locator)).toMatchObject(nothing);
  },

  "readChapter gives an earlier chapter and the batch after it, or the current one": async (subject) => {
    const readChapter = subject.optional("readChapter");
    const head = await createWithBlobs(subject);
    const current = await readChapter(head.locator);
    const parts = [
      { from: 2, blobs: only("a", "b", "c") },
      { from: 0, blobs: only("a", "b") },
    ];
    const whole = await subject.storage.read(head.locator);
    for (const [i, { from, blobs }] of parts.entries()) {
      const part = await readChapter(head.locator, i + 1);
      if (part.from === current.from) continue;
      expect(part).toMatchObject({ from, length: 6, batches: whole.batches.slice(from, from + 3) });
      expect(part.batches).toHaveLength(3);
      expect(part.blobs).toMatchObject(blobs);
    }
  },

  "list gives the chapter, and from where a fork reads": async (subject) => {
    subject.optional("readChapter");
    const parent = await createChapters(subject, 4, [2, 3]);
    const fork = await createFork(subject, parent, 2);
    const plain = await createFork(subject, parent);
    expect((await subject.list()).runs).toEqual([plain, fork, parent]);
    await subject.storage.append(request({ ...fork, chapter: 1 }, 1));
    expect((await subject.list()).runs).toEqual([plain, { ...fork, chapter: 1 }, parent]);
  },

  "a chapter is read with every blob that its batches refer to": async (subject) => {
    const readChapter = subject.optional("readChapter");
    const { storage } = subject;
    const head = await createNaming(subject, [a, b]);
    const chapter = { ...head, chapter: 1 };
    await storage.append(naming(chapter, 1, [{ name: "blob-a" }, { name: "blob-a" }]));
    expect((await readChapter(head.locator)).blobs).toEqual(only("a"));
    await storage.append(naming(chapter, 2, [{ name: "blob-b" }, c]));
    expect((await readChapter(head.locator)).blobs, "named again without a body").toEqual(
      only("a", "b", "c"),
    );
    await storage.append(request({ ...head, chapter: 3 }, 3));
    expect((await readChapter(head.locator)).blobs ?? {}).toEqual({});
  },

  "a blob is read with the first batch of each chapter that names it": async (subject) => {
    subject.optional("readChapter");
    const head = await createWithBlobs(subject);
    const expected = [
      only("a", "b", "c"),
      only("a", "b", "c"),
      only("a", "b", "c"),
      only("b", "c"),
      only("c"),
      {},
    ];
    for (const [from, blobs] of expected.entries())
      expect(await blobsOf(subject.storage, head, from), `from ${from}`).toEqual(blobs);
  },

  "a fork names a blob of any chapter that it reads without the body": async (subject) => {
    subject.optional("readChapter");
    const parent = await createWithBlobs(subject);
    const fork = await createNaming(subject, [{ name: "blob-a" }, { name: "blob-c" }], {
      parent: parent.runId,
      ancestors: [parent.locator],
      readsFrom: [2],
    });
    const { storage } = subject;
    expect(await blobsOf(storage, fork)).toEqual(only("a", "c"));
    await storage.append(request({ ...parent, chapter: 6 }, 6));
    expect(await blobsOf(storage, fork), "the parent has a new chapter").toEqual(only("a", "c"));
  },
};
