/** `read`: dense, in order, and exactly the text that was written. Proven in test/conformance.test.ts. */

import { expect } from "vitest";
import { headOf, request, text, type Checks, type Subject } from "./subject.ts";

async function expectKept(subject: Subject, texts: readonly string[]): Promise<void> {
  const { storage, clock } = subject;
  const head = headOf(clock.now);
  for (const [position, batch] of texts.entries())
    await storage.append({ ...request(head, position), batch });
  const { batches, length } = await storage.read(head.locator);
  expect(length).toBe(texts.length);
  // Compared one by one and by ===, so that a failure does not print megabytes.
  expect(batches.map((batch, position) => batch === texts[position])).toEqual(texts.map(() => true));
}

export const readChecks: Checks = {
  "read gives nothing and 0 for an unknown run": async ({ storage, clock }) => {
    const { locator } = headOf(clock.now);
    expect(await storage.read(locator)).toMatchObject({ batches: [], length: 0 });
    expect(await storage.read(locator, 7)).toMatchObject({ batches: [], length: 0 });
  },

  "read gives batches in order from any position": async (subject) => {
    const head = await subject.createLong(12);
    await subject.createLong(3);
    const all = Array.from({ length: 12 }, (_, position) => text(position));
    for (const from of [0, 1, 5, 11, 12, 13, 40])
      expect(await subject.storage.read(head.locator, from)).toMatchObject({
        batches: all.slice(from),
        length: 12,
      });
  },

  "read from beyond any number of batches gives the length and the head alone": async (subject) => {
    const head = await subject.createLong(3);
    for (const from of [2 ** 31 - 1, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
      const reply = await subject.storage.read(head.locator, from);
      expect(reply).toMatchObject({ batches: [], length: 3 });
      if (reply.head !== undefined) expect(reply.head).toEqual(head);
      expect(await subject.storage.read(headOf(0).locator, from)).toMatchObject({ batches: [], length: 0 });
    }
  },

  "read gives the head of the latest batch, or none": async (subject) => {
    const { storage } = subject;
    const head = await subject.create({ label: "x" });
    const next = { ...head, status: "suspended", wakeAt: 7, steps: 3, chapter: 1 } as const;
    const heads = async (): Promise<unknown[]> => {
      const replies = [await storage.read(head.locator), await storage.read(head.locator, 9)];
      const chapter = await storage.readChapter?.(head.locator);
      return [...replies, ...(chapter === undefined ? [] : [chapter])].map((reply) => reply.head ?? null);
    };
    for (const [position, expected] of [head, next].entries()) {
      if (position > 0) await storage.append(request(next, position));
      for (const found of await heads()) if (found !== null) expect(found).toEqual(expected);
    }
    await subject.create({ ancestors: [head.locator] });
    await storage.delete(head.locator);
    expect(await heads(), "a hidden run").toEqual((await heads()).map(() => null));
  },

  "read gives more than a thousand batches": async (subject) => {
    const head = await subject.createLong(1_005);
    const { batches, length } = await subject.storage.read(head.locator);
    expect(length).toBe(1_005);
    expect(batches).toEqual(Array.from({ length: 1_005 }, (_, position) => text(position)));
  },

  "read gives texts back byte for byte": (subject) =>
    expectKept(subject, [
      "0",
      "{}",
      "[]",
      "null",
      " ",
      "\"quoted\" 'single' `back` \\ \\u0000 %s $1 ? :name",
      "line\nfeed\r\ncarriage\ttab\u2028\u2029",
      "\uFEFFbyte order mark",
      "é and e\u0301, ﬁ and fi, ẞ and SS, \u200B\u200D\u202E",
      "日本語 العربية 🧑‍🚀👩🏽‍🔬 𝒳 \u{10FFFF}",
      "\u0001\u0008\u001B\u007F\u0085\uFFFD",
      "1e400 9007199254740993 0.1",
      "'); DROP TABLE runs; --",
    ]),

  "read keeps a NUL character": (subject) => expectKept(subject, ["a\u0000b", "\u0000", "end\u0000"]),

  "read keeps a batch of 1 MiB, in bytes and in characters": (subject) =>
    expectKept(subject, ["x".repeat(2 ** 20), "ü€🚀".repeat(2 ** 17), `${"[".repeat(50)}small after large`]),
};
