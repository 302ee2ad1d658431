import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { describe, expect, test } from "vitest";
import { failureOf, lab, pause, tokenOf } from "../support/behaviour-lab.ts";
import { dieAt, runOf, silent } from "../support/behaviour-lives.ts";
import { range, readAll, seenAs, sqliteLab, streamOf, wholeOf, type Seen } from "../support/stream-lab.ts";
import { open } from "../support/worker-lab.ts";
import { record } from "../support/worker-runs.ts";

describe("a reader comes", () => {
  const late = (on: ReturnType<typeof lab>) =>
    durable("late", async (ctx) => {
      await ctx.sleep("5m");
      await ctx.suspend("go");
      return ctx.stream("words", async function* () {
        for (const n of range(3)) {
          yield n;
          await pause(on.world, 300);
        }
      });
    }).with({ ...on });

  test("before the stream exists, while the run sleeps and waits: it gets the whole stream", async () => {
    const on = lab();
    const flow = late(on);
    const parked = await on.world.run(flow.run(undefined, { id: "r" }));
    expect(parked).toMatchObject({ status: "suspended" });
    const reading = readAll(flow.get("r").stream("words"));
    await on.world.advance(300_000);
    const waiting = await on.world.run(flow.run(undefined, { id: "r" }));
    await on.world.advance(60_000);
    const resumed = flow.resume(tokenOf(waiting), "yes");
    expect(await on.world.run(reading)).toEqual(wholeOf([0, 1, 2]));
    await on.world.run(resumed);
    expect(await on.world.run(readAll(flow.get("r").stream("words"))), "and after the end").toEqual(
      wholeOf([0, 1, 2]),
    );
  });

  test("to a run that is not there: not-found", async () => {
    const on = lab();
    const reading = readAll(late(on).get("nobody").stream("words"));
    expect(await failureOf(reading)).toMatchObject({ code: "not-found" });
  });

  test.each([{ from: -1 }, { from: 1.5 }, { from: Number.NaN }, { attempt: 0 }, { attempt: 1.5 }])(
    "with a place that is none: %o",
    async (place) => {
      const on = lab();
      const { flow } = streamOf(on.world, [1]);
      await runOf(on, flow);
      const reading = readAll(
        flow
          .with({ ...on })
          .get("r")
          .stream("words", place),
      );
      expect(await failureOf(reading)).toMatchObject({ code: "invalid-options" });
    },
  );

  test("through a storage that cannot tell of appends: it polls, and sees the same", async () => {
    const on = lab();
    const { flow } = streamOf(on.world, range(20), 300);
    await on.world.run(flow.with({ ...on }).start(undefined, { id: "r" }));
    const reader = flow
      .with({ ...on, storage: silent(on) })
      .get("r")
      .stream("words");
    expect(await on.world.run(readAll(reader))).toEqual(wholeOf(range(20)));
  });
});

describe("the name of a stream", () => {
  const branches = (on: ReturnType<typeof lab>) =>
    durable("named", async (ctx) => {
      await ctx.parallel({
        a: (c) => c.stream("words", () => ["a"]),
        b: (c) => c.stream("words", () => ["b"]),
        c: (c) => c.stream("only", () => ["c"]),
      });
      await ctx.stream("top", () => [1]);
      await ctx.stream("top", () => [2]);
      await ctx.step("plain", () => 1);
      await ctx.suspend("ok");
    }).with({ ...on });

  const after = async () => {
    const on = lab();
    const flow = branches(on);
    const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
    const read = (name: string): Promise<Seen[]> => on.world.run(readAll(flow.get("r").stream(name)));
    return { on, flow, read, token: tokenOf(outcome) };
  };

  test("is its key, or a bare name where there is one of it", async () => {
    const { read } = await after();
    expect(await read("parallel[a]/words")).toEqual(wholeOf(["a"]));
    expect(await read("parallel[b]/words")).toEqual(wholeOf(["b"]));
    expect(await read("only")).toEqual(wholeOf(["c"]));
    expect(await read("top"), "a key goes before a bare name").toEqual(wholeOf([1]));
    expect(await read("top#2")).toEqual(wholeOf([2]));
  });

  test("that several have is refused at once, with their keys, though the run goes on", async () => {
    const { read } = await after();
    expect(await failureOf(read("words"))).toMatchObject({
      code: "unknown-step",
      message: expect.stringMatching(/several streams "words".*parallel\[a\]\/words.*parallel\[b\]\/words/),
    });
  });

  test("that nobody has is told when the run is over, with those there are", async () => {
    const { on, flow, read, token } = await after();
    const reading = flow.get("r").stream("word");
    await on.world.run(flow.resume(token, 1));
    expect(await failureOf(on.world.run(readAll(reading)))).toMatchObject({
      code: "unknown-step",
      message: expect.stringMatching(/has ended and has no stream "word".*parallel\[a\]\/words/),
    });
    expect(await failureOf(read("plain")), "a step is no stream").toMatchObject({ code: "unknown-step" });
  });
});

describe("the end of a stream is known by its entry alone", () => {
  test("a producer that died leaves the reader waiting; the next one brings the reset and the end", async () => {
    const on = lab();
    const { flow } = streamOf(on.world, range(5), 150);
    const dying = dieAt(on, flow, 3);
    await on.world.advance(200);
    const seen: Seen[] = [];
    const reading = { over: false };
    const end = readAll(
      flow
        .with({ ...on })
        .get("r")
        .stream("words"),
      seen,
    ).then(() => (reading.over = true));
    await dying;
    await on.world.advance(3_600_000);
    expect(seen).toEqual(wholeOf([0, 1]));
    expect(reading.over, "an hour of silence is no end").toBe(false);
    const prefix = [...seen];
    await runOf(on, flow);
    await on.world.run(end);
    expect(seen).toEqual([...prefix, "reset 2", ...wholeOf(range(5), 2)]);
  });

  test("a run that failed elsewhere, or was cancelled, has left it without one", async () => {
    for (const how of ["cancel", "fail"] as const) {
      const on = lab();
      const flow = durable("abandoned", async (ctx) => {
        void ctx.race({
          words: (c) =>
            c.stream("words", async function* () {
              for (;;) {
                yield 1;
                await pause(on.world, 150);
              }
            }),
          end: (c) => c.sleep("5s"),
        });
        if (how === "fail") {
          await ctx.sleep(1_000);
          throw new Error("elsewhere");
        }
        await ctx.sleep("1h");
      }).with({ ...on });
      const run = await on.world.run(flow.start(undefined, { id: "r" }));
      const seen: Seen[] = [];
      const reading = failureOf(readAll(run.stream("words"), seen));
      await on.world.advance(500);
      if (how === "cancel") await on.world.run(run.cancel());
      const error = await on.world.run(reading);
      expect(error).toMatchObject({
        code: how === "cancel" ? "cancelled" : "run-failed",
        message:
          'Run r ended before its stream "words" was complete. Fork the run to produce the stream again.',
      });
      expect(seen.length).toBeGreaterThan(2);
      expect(await failureOf(readAll(run.stream("words"))), "late readers, too").toMatchObject({
        code: (error as { code: string }).code,
      });
    }
  });
});

describe("a reader costs nobody anything", () => {
  test("absent or slow, the stream is made at its own pace, and a slow one still sees it all", async () => {
    const paces: number[] = [];
    for (const slow of [null, 1_000]) {
      const on = lab();
      const { flow } = streamOf(on.world, range(50), 20);
      const began = on.world.now();
      const run = await on.world.run(flow.with({ ...on }).start(undefined, { id: "r" }));
      const seen: Seen[] = [];
      const reading = (async () => {
        if (slow !== null)
          for await (const event of run.stream("words")) {
            seen.push(seenAs(event));
            await pause(on.world, slow);
          }
      })();
      await on.world.run(run.result());
      paces.push(on.world.now() - began);
      if (slow !== null) expect(seen.length).toBeLessThan(5);
      await on.world.run(reading);
      if (slow !== null) expect(seen).toEqual(wholeOf(range(50)));
    }
    expect(paces[1]).toBe(paces[0]);
  });

  test("its signal ends the reading at once, whatever it waits for", async () => {
    const on = lab();
    const { flow } = streamOf(on.world, range(50), 400);
    const run = await on.world.run(flow.with({ ...on }).start(undefined, { id: "r" }));
    const leave = new AbortController();
    const seen: Seen[] = [];
    const reading = readAll(run.stream("words", { signal: leave.signal }), seen);
    await on.world.advance(1_100);
    leave.abort();
    const before = on.world.now();
    await on.world.run(reading);
    expect(on.world.now()).toBe(before);
    expect(seen).toEqual(wholeOf([0, 1]));
    const now = await readAll(run.stream("words", { signal: AbortSignal.abort() }));
    expect(now, "one that is aborted before gives what is there, and waits for nothing").toEqual(seen);
  });

  test("a worker stops in time beside open readers and a stream under way (H61)", async () => {
    const on = lab();
    const { flow } = streamOf(on.world, range(100), 200);
    await record(on, "r", { workflow: "one-stream" });
    const { app, worker } = open(on, [flow], { drain: "1s" });
    await on.world.advance(3_000);
    const seen: Seen[] = [];
    const reading = readAll(app.get("r").stream("words"), seen);
    await on.world.advance(100);
    expect(seen.length).toBeGreaterThan(5);
    const asked = on.world.now();
    await on.world.run(worker.stop());
    expect(on.world.now() - asked).toBe(1_000);
    expect(on.world.warnings.join()).toMatch(/under way.*: r/);
    // Nobody ended this process: what was under way goes on.
    expect(await on.world.run(reading)).toEqual(wholeOf(range(100)));
  });

  test("a worker whose only run waits for nothing stops at once, readers or not", async () => {
    const on = lab();
    const flow = durable("parked", (ctx) => ctx.suspend("ok"));
    await record(on, "r", { workflow: "parked" });
    const { app, worker } = open(on, [flow]);
    const leave = new AbortController();
    const reading = readAll(app.get("r").stream("words", { signal: leave.signal }));
    await on.world.advance(1_000);
    const asked = on.world.now();
    await on.world.run(worker.stop());
    expect(on.world.now()).toBe(asked);
    leave.abort();
    expect(await on.world.run(reading)).toEqual([]);
  });
});

test("a handle on SQLite that is closed ends its readers with the reason", async () => {
  const on = sqliteLab();
  const { flow } = streamOf(on.world, range(5), 150);
  await dieAt(on, flow, 3);
  const second = new SqliteStorage({ path: on.path, now: () => on.world.now() });
  const reading = readAll(
    flow
      .with({ ...on, storage: second })
      .get("r")
      .stream("words"),
  );
  setTimeout(() => void second.close(), 30);
  expect(await failureOf(reading)).toMatchObject({ code: "storage-closed" });
});
