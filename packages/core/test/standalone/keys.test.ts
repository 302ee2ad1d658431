import { DurableError, limits } from "@durable/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { failureOf, lab, pause } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";
import { openJournal } from "./support/lab.ts";

describe("what a record depends on", () => {
  test("another input is diverged, before the work runs, and after a restart too", async () => {
    const on = lab();
    const journal = await openJournal(on);
    let ran = 0;
    const ask = (to: typeof journal, input: unknown) => to.record("ask", () => ++ran, { input });
    expect(await ask(journal, { prompt: "a" })).toBe(1);
    expect(await ask(journal, { prompt: "a" })).toBe(1);
    for (const opened of [journal, await openJournal(on)])
      expect(await failureOf(ask(opened, { prompt: "b" }))).toMatchObject({
        code: "diverged",
        message: expect.stringMatching(/"ask" of journal j is recorded with another input.*another key/),
        details: { key: "ask" },
      });
    expect(ran).toBe(1);
  });

  test("another input is diverged while the first is under way, too", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const slow = journal.record("ask", () => pause(on.world, 100).then(() => "for a"), { input: "a" });
    const other = failureOf(journal.record("ask", () => "for b", { input: "b" }));
    const same = journal.record("ask", () => "not run", { input: "a" });
    expect(await on.world.run(other)).toMatchObject({ code: "diverged" });
    expect(await on.world.run(Promise.all([slow, same]))).toEqual(["for a", "for a"]);
  });

  test("a record without a declared input is given to whoever asks", async () => {
    const on = lab();
    const journal = await openJournal(on);
    await journal.record("ask", () => 1);
    expect(await journal.record("ask", () => 2, { input: "b" })).toBe(1);
  });

  test("a failed attempt binds nobody: the next may have another input", async () => {
    const on = lab();
    const journal = await openJournal(on);
    await failureOf(journal.record("ask", () => Promise.reject(new Error("no")), { input: "a" }));
    expect(await journal.record("ask", () => 2, { input: "b" })).toBe(2);
    const later = await openJournal(on);
    expect(await later.record("ask", () => 3, { input: "b" })).toBe(2);
    expect(await failureOf(later.record("ask", () => 3, { input: "a" }))).toMatchObject({ code: "diverged" });
  });

  test("a key is a step's or a stream's, and never both, also when both are asked for at once", async () => {
    const on = lab();
    const journal = await openJournal(on);
    await journal.record("step", () => 1);
    expect(() => journal.recordStream("step", () => [1])).toThrow(/recorded as a step/);
    const step = journal.record("both", () => pause(on.world, 50).then(() => "step"));
    const stream = failureOf(
      (async () => {
        for await (const chunk of journal.recordStream("both", () => ["chunk"])) void chunk;
      })(),
    );
    expect(await on.world.run(stream)).toMatchObject({ code: "diverged" });
    expect(await on.world.run(step)).toBe("step");
    const later = await openJournal(on);
    expect(await later.record("both", () => "again")).toBe("step");
  });
});

describe("a schema", () => {
  const schema = z.object({ n: z.number(), tag: z.string().default("none") });

  test("checks and completes what is recorded", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const made: { n: number; tag: string } = await journal.record("ask", () => ({ n: 1 }), { schema });
    expect(made).toEqual({ n: 1, tag: "none" });
    expect(await (await openJournal(on)).record("ask", () => null, { schema })).toEqual({
      n: 1,
      tag: "none",
    });
  });

  test("refuses with invalid-output, and the next call runs again", async () => {
    const on = lab();
    const journal = await openJournal(on);
    expect(await failureOf(journal.record("ask", () => ({ n: "one" }), { schema }))).toMatchObject({
      code: "invalid-output",
      message: expect.stringMatching(/"ask" of journal j.*n/),
    });
    expect(await journal.record("ask", () => ({ n: 1, tag: "x" }), { schema })).toEqual({ n: 1, tag: "x" });
  });
});

describe("keys and ids (H65)", () => {
  const odd = [
    "a/b",
    "x#2",
    "parallel[a]/b",
    "../../..",
    "__proto__",
    "constructor",
    "\u00e9",
    "e\u0301",
    "𝄞",
    "'; DROP",
    " ",
    "x".repeat(limits.keyLength),
  ];

  test("any text is a key of its own, whatever it looks like", async () => {
    const on = lab();
    const journal = await openJournal(on);
    for (const [n, key] of odd.entries()) expect(await journal.record(key, () => n)).toBe(n);
    const later = await openJournal(on);
    for (const [n, key] of odd.entries()) expect(await later.record(key, () => -1), key).toBe(n);
    expect(later.has("toString")).toBe(false);
  });

  test.each(["", "a\u0000b", "a\nb", "\ud800", "x".repeat(limits.keyLength + 1), 7, null, undefined])(
    "%j is no key",
    async (key) => {
      const on = lab();
      const journal = await openJournal(on);
      const error = await failureOf(journal.record(key as string, () => 1));
      expect(error).toMatchObject({ code: "invalid-name" });
      expect(() => journal.recordStream(key as string, () => [1])).toThrow(DurableError);
      expect(await batchesOf(on, "j")).toEqual([]);
    },
  );

  test.each(["", "../x", "a b", ".hidden", "é", "a\u0000", "x".repeat(129), "CON.", 7, null])(
    "%j is no id",
    async (id) => {
      expect(await failureOf(openJournal(lab(), { id: id as string }))).toMatchObject({ code: "invalid-id" });
    },
  );
});
