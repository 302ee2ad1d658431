/**
 * Names and bodies of blobs: any text is returned unchanged, or refused. Proven in test/conformance.test.ts.
 */

import { DurableError } from "@durable/core";
import type { NamedBlob } from "@durable/core/storage";
import { expect } from "vitest";
import { blobsOf, createNaming, naming } from "./blobs.ts";
import { hostileNames } from "./hostile.ts";
import { headOf, type Checks, type Subject } from "./subject.ts";

async function expectKept(subject: Subject, blobs: readonly Required<NamedBlob>[]): Promise<void> {
  const head = await createNaming(subject, blobs);
  const found = await blobsOf(subject.storage, head);
  expect(Object.keys(found).toSorted()).toEqual(blobs.map(({ name }) => name).toSorted());
  // Compared by ===, so that a failure does not print megabytes.
  for (const { name, body } of blobs)
    expect(Object.hasOwn(found, name) && found[name] === body, `of ${JSON.stringify(name)}`).toBe(true);
}

export const blobBodyChecks: Checks = {
  "a blob is given back byte for byte": (subject) =>
    expectKept(
      subject,
      [
        "",
        " ",
        "null",
        "\"quoted\" 'single' `back` \\ \\u0000 %s $1 ? :name",
        "line\nfeed\r\ncarriage\ttab\u2028\u2029",
        "\uFEFFbyte order mark",
        "é and e\u0301, \u200B\u200D\u202E",
        "日本語 🧑‍🚀 \u{10FFFF}",
        "\u0001\u0008\u001B\u007F\u0085\uFFFD",
        "'); DROP TABLE blobs; --",
      ].map((body, n) => ({ name: `blob-${n}`, body })),
    ),

  "hostile blob names are data (H65)": (subject) =>
    expectKept(
      subject,
      [...hostileNames, ""].map((name) => ({ name, body: `body of ${name}` })),
    ),

  "a blob keeps a NUL character, in its name and its body": (subject) =>
    expectKept(
      subject,
      ["a", "a\u0000", "a\u0000b", "\u0000"].map((name) => ({ name, body: `${name}:\u0000end\u0000` })),
    ),

  "a blob with half of a surrogate pair is kept as it is, or refused": async (subject) => {
    const halves = ["\ud800", "a\udc00b", "\udc00\ud800", "\ufffd"];
    const bodies = halves.map((body, n) => ({ name: `blob-${n}`, body }));
    const named = halves.map((name) => ({ name, body: "a body" }));
    for (const blob of [...bodies, ...named]) {
      const before = await subject.locators();
      const refusal = await expectKept(subject, [blob]).catch((error: unknown) => error);
      if (refusal === undefined) continue;
      expect(DurableError.is(refusal, "storage-failed"), `of ${JSON.stringify(blob)}`).toBe(true);
      expect(await subject.locators(), "nothing is written").toEqual(before);
    }
  },

  "a blob of 32 MiB, in bytes and in characters": async (subject) => {
    await expectKept(subject, [
      { name: "bytes", body: "x".repeat(2 ** 25) },
      { name: "characters", body: "ü€🚀".repeat(2 ** 25 / 9) },
      { name: "small after large", body: "small" },
    ]);
  },

  "2,000 blobs in one append, and all of them again without their bodies": async (subject) => {
    const { storage } = subject;
    const blobs = Array.from({ length: 2_000 }, (_, n) => ({ name: `blob-${n}`, body: `body ${n}` }));
    await expectKept(subject, blobs);
    const head = headOf(subject.clock.now);
    await storage.append(
      naming(
        head,
        0,
        blobs.map(({ name }) => ({ name })),
      ),
    );
    expect(Object.keys(await blobsOf(storage, head))).toHaveLength(2_000);
    const { runs } = await subject.list();
    for (const { locator } of runs) await storage.delete(locator);
    await expect(storage.append(naming(headOf(1), 0, [{ name: "blob-1999" }]))).rejects.toThrow(/blob-1999/);
  },
};
