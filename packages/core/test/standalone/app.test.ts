import { createApp, durable } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { aesGcm } from "@durable/core/encryption";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, pause, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";
import { drained, kindsIn, openJournal } from "./support/lab.ts";
import { held, range, readAll, wholeOf } from "../support/stream-lab.ts";
import { open } from "../support/worker-lab.ts";

describe("a journal and the rest of the library", () => {
  const flow = durable("other", () => 1);
  const appOf = (on: Lab) => createApp({ ...on, workflows: [flow] });

  test("no worker and no sweep takes it for work, though it is listed, and never ends by itself", async () => {
    const on = lab();
    const journal = await openJournal(on);
    await journal.record("ask", () => 1);
    const stuck = journal.recordStream("words", () => new ReadableStream<string>());
    const app = appOf(on);
    expect((await app.list()).runs).toMatchObject([
      { runId: "j", workflow: "", status: "running", wakeAt: null, steps: 1 },
    ]);
    expect((await app.list({ dueAt: Number.MAX_SAFE_INTEGER })).runs).toEqual([]);
    expect(await app.sweep()).toMatchObject({ outcomes: [], failed: [], unknown: [] });
    const { worker, heard } = open(on, [flow]);
    await on.world.advance(60_000);
    expect([heard, on.world.warnings]).toEqual([[], []]);
    await on.world.run(worker.stop());
    await stuck.cancel();
    expect(await on.world.run(app.get("j").outcome())).toMatchObject({ status: "running" });
    expect(await failureOf(app.advance("j"))).toMatchObject({ code: "unknown-workflow" });
    expect(await failureOf(flow.with({ ...on }).run(undefined, { id: "j" }))).toMatchObject({
      code: "workflow-mismatch",
    });
  });

  test("end() is its end: lists show it, records stay readable, nothing new runs", async () => {
    const on = lab();
    const journal = await openJournal(on);
    const before = await openJournal(on);
    await journal.record("ask", () => 1);
    await journal.end();
    await journal.end();
    expect((await appOf(on).list({ status: "completed" })).runs).toMatchObject([
      { runId: "j", wakeAt: null },
    ]);
    let ran = 0;
    for (const opened of [journal, await openJournal(on)]) {
      expect(await opened.record("ask", () => ++ran)).toBe(1);
      expect(await failureOf(opened.record("new", () => ++ran))).toMatchObject({
        code: "conflict",
        message: "Journal j has ended and accepts no more records. Choose another id.",
      });
      expect(() => opened.recordStream("new", () => [++ran])).toThrow(
        /has ended and accepts no more records/,
      );
    }
    expect(ran, "work that could not be kept is not begun").toBe(0);
    expect(
      await on.world.run(failureOf(before.record("new", () => 1))),
      "nor kept by a handle from before",
    ).toMatchObject({
      code: "conflict",
    });
    expect(kindsIn(await openJournal(on))).toEqual(["run.started", "step.completed ask", "run.completed"]);
  });

  test("app.get reads its streams along, app.delete takes it away, and app.cancel ends it", async () => {
    const on = lab();
    const app = appOf(on);
    const journal = await openJournal(on);
    const stream = journal.recordStream("chat/turn 1", async function* () {
      for (const n of range(5)) {
        yield n;
        await pause(on.world, 150);
      }
    });
    await on.world.advance(110);
    const along = readAll(app.get("j").stream("chat/turn 1"));
    expect(await on.world.run(along)).toEqual(wholeOf(range(5)));
    expect(await on.world.run(drained(stream))).toEqual(range(5));
    expect((await app.get("j").entries()).map(({ kind }) => kind)).toContain("stream.completed");
    await app.delete("j");
    expect((await app.list()).runs).toEqual([]);
    expect(
      await on.world.run(failureOf(journal.record("late", () => 1))),
      "a handle from before writes nothing",
    ).toMatchObject({
      code: "journal-regressed",
    });
    const anew = await openJournal(on);
    expect(anew.entries()).toEqual([]);
    await anew.record("ask", () => 2);
    await on.world.run(app.cancel("j", { reason: "no more" }));
    expect(await on.world.run(failureOf(anew.record("after", () => 3)))).toMatchObject({ code: "conflict" });
  });

  test("encryption seals its records; without the key, or with another, they are not read", async () => {
    // Web Crypto works in real time.
    const on = { ...lab(), world: systemWorld };
    const keys = {
      k: btoa("one of 32 bytes, for tests alone"),
      other: btoa("another of 32 bytes, for a test."),
    };
    const encryption = aesGcm({ current: "k", keys });
    const journal = await openJournal(on, { encryption });
    await journal.record("ask", () => ({ text: "my card is 4711", long: "lorem 4711 ".repeat(2_000) }));
    await failureOf(journal.record("bad", () => Promise.reject(new Error("4711 is no card"))));
    expect(await drained(journal.recordStream("words", () => ["47", "4711"]))).toEqual(["47", "4711"]);
    const { runs } = await on.storage.list();
    expect(JSON.stringify(await on.storage.read(runs[0]?.locator ?? ""))).not.toContain("4711");
    const later = await openJournal(on, { encryption });
    expect(await later.record("ask", () => null)).toMatchObject({ text: "my card is 4711" });
    expect(await drained(later.recordStream("words", () => []))).toEqual(["47", "4711"]);
    expect(await failureOf(openJournal(on))).toMatchObject({ code: "no-key" });
    const wrong = aesGcm({ current: "k", keys: { k: keys.other } });
    expect(await failureOf(openJournal(on, { encryption: wrong }))).toMatchObject({ code: "tampered" });
  });

  test("the id of a workflow's run is refused, and leaves that run as it was", async () => {
    const on = lab();
    const outcome = await on.world.run(flow.with({ ...on }).run(undefined, { id: "j" }));
    const before = await batchesOf(on, "j");
    expect(await failureOf(openJournal(on))).toMatchObject({ code: "workflow-mismatch" });
    expect(await batchesOf(on, "j")).toEqual(before);
    expect(outputOf(outcome)).toBe(1);
  });

  test("a storage that fails for a moment delays a record; the work runs once", async () => {
    const on = lab();
    const storage = held(on.storage);
    const journal = await openJournal(on, { storage });
    let fails = 3;
    const flaky = {
      ...storage,
      append: (request: never) =>
        fails-- > 0 ? Promise.reject(new Error("gone")) : on.storage.append(request),
    };
    const other = await openJournal(on, { storage: flaky });
    let ran = 0;
    expect(await on.world.run(other.record("ask", () => ++ran))).toBe(1);
    expect(await on.world.run(journal.record("ask", () => ++ran))).toBe(1);
  });
});
