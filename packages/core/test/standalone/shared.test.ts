import { durable } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, pause } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";
import { drained, kindsIn, openJournal } from "./support/lab.ts";
import { isDense, labs, range, type ChunksEntry } from "../support/stream-lab.ts";

describe.each(labs)("two handles on one journal (standalone.3), on %s", (_, make) => {
  test("the first record of a key stands, and the other is given its value", async () => {
    const on = make();
    const [one, two] = [await openJournal(on), await openJournal(on)];
    const slow = one.record("ask", () => pause(on.world, 100).then(() => "slow"));
    const quick = two.record("ask", () => pause(on.world, 10).then(() => "quick"));
    expect(await on.world.run(Promise.all([slow, quick]))).toEqual(["quick", "quick"]);
    const later = await openJournal(on);
    expect(kindsIn(later)).toEqual(["run.started", "step.completed ask"]);
  });

  test("each goes on with its own keys, and neither loses anything", async () => {
    const on = make();
    const handles = [await openJournal(on), await openJournal(on), await openJournal(on)];
    await on.world.run(
      Promise.all(
        handles.map(async (journal, h) => {
          for (const n of range(30))
            await journal.record(`${h} ${n}`, () => pause(on.world, (h + n) % 4).then(() => n));
        }),
      ),
    );
    const later = await openJournal(on);
    expect(later.entries()).toHaveLength(91);
    for (const h of range(3)) for (const n of range(30)) expect(later.has(`${h} ${n}`)).toBe(true);
  });

  test("who fails where the other succeeded throws its error, and the record stands", async () => {
    const on = make();
    const [one, two] = [await openJournal(on), await openJournal(on)];
    const bad = failureOf(
      one.record("ask", () => pause(on.world, 100).then(() => Promise.reject(new Error("no")))),
    );
    expect(await on.world.run(two.record("ask", () => 1))).toBe(1);
    expect(await on.world.run(bad)).toMatchObject({ message: "no" });
    expect(await on.world.run(one.record("ask", () => 2)), "it has learned of it").toBe(1);
    expect(kindsIn(await openJournal(on))).toEqual(["run.started", "step.completed ask"]);
  });

  test("two recordings of one stream: one is refused, the journal holds the other's chunks alone", async () => {
    for (const apart of [0, 120, 350]) {
      const on = make();
      const produce = (name: string) =>
        async function* () {
          for (const n of range(6)) {
            yield `${name} ${n}`;
            await pause(on.world, 70);
          }
        };
      const one = (await openJournal(on)).recordStream("ask", produce("one"));
      await on.world.advance(apart);
      const two = (await openJournal(on)).recordStream("ask", produce("two"));
      const ends = await on.world.run(Promise.allSettled([drained(one), drained(two)]));
      const refused = ends.filter((end) => end.status === "rejected");
      expect(refused, `${apart} ms apart`).toMatchObject([
        { reason: { code: "conflict", message: expect.stringContaining('stream "ask" of journal j') } },
      ]);
      const kept = ends.find((end) => end.status === "fulfilled")?.value;
      const later = await openJournal(on);
      expect(await on.world.run(drained(later.recordStream("ask", () => ["made anew"])))).toEqual(kept);
      expect(isDense(later.entries().filter(({ kind }) => kind === "stream.chunks") as ChunksEntry[])).toBe(
        true,
      );
    }
  });

  test("an older attempt that ends late, and empty, is refused: it does not end the newer one's chunks", async () => {
    const on = make();
    const old = await openJournal(on);
    const gate = Promise.withResolvers<string[]>();
    const empty = failureOf(drained(old.recordStream("ask", () => gate.promise)));
    const failing = await openJournal(on);
    await on.world.run(
      failureOf(drained(failing.recordStream("ask", () => Promise.reject(new Error("once"))))),
    );
    const second = await openJournal(on);
    const stream = second.recordStream("ask", async function* () {
      yield 0;
      await pause(on.world, 200);
      yield 1;
    });
    await on.world.advance(150);
    gate.resolve([]);
    expect(await on.world.run(empty)).toMatchObject({ code: "conflict" });
    expect(await on.world.run(drained(stream))).toEqual([0, 1]);
    const later = await openJournal(on);
    expect(await on.world.run(drained(later.recordStream("ask", () => [9])))).toEqual([0, 1]);
  });

  test("a key that the other has recorded as a step is no stream, and the other way round", async () => {
    const on = make();
    const [one, two] = [await openJournal(on), await openJournal(on)];
    await one.record("step", () => 1);
    const stream = two.recordStream("step", () => ["chunk"]);
    expect(await on.world.run(failureOf(drained(stream)))).toMatchObject({ code: "diverged" });
    const slow = two.record("stream", () => pause(on.world, 300).then(() => 1));
    expect(await on.world.run(drained(one.recordStream("stream", () => ["chunk"])))).toEqual(["chunk"]);
    expect(await on.world.run(failureOf(slow))).toMatchObject({ code: "diverged" });
    const later = await openJournal(on);
    expect(await later.record("step", () => 2)).toBe(1);
    expect(await on.world.run(drained(later.recordStream("stream", () => [])))).toEqual(["chunk"]);
  });

  test("a run of a workflow that takes the id first is left alone", async () => {
    const on = make();
    const journal = await openJournal(on);
    const flow = durable("owner", (ctx) => ctx.step("ask", () => "the workflow's")).with({ ...on });
    await on.world.run(flow.run(undefined, { id: "j" }));
    const before = await batchesOf(on, "j");
    expect(await on.world.run(failureOf(journal.record("ask", () => "ours")))).toMatchObject({
      code: "workflow-mismatch",
    });
    expect(await batchesOf(on, "j")).toEqual(before);
    expect(await failureOf(openJournal(on))).toMatchObject({
      code: "workflow-mismatch",
      message: expect.stringMatching(/Run j belongs to workflow "owner".*Choose another id/),
    });
  });
});
