import { durable, FatalError, RetryError, type DurableError } from "@durable/core";
import { describe, expect, test } from "vitest";
import { kindsOf, lab, outputOf, pause } from "../../support/behaviour-lab.ts";
import { replayOf, runOf } from "../../support/behaviour-lives.ts";
import { unhandled } from "../../support/behaviour-unhandled.ts";
import { chunksOf, isDense, labs, range, readAll, timed, wholeOf } from "../../support/stream-lab.ts";

describe.each(labs)("a stream that fails half-way, on %s", (_, make) => {
  test("begins anew under a new number; the reader gets a reset", async () => {
    const on = make();
    const calls: number[] = [];
    const flow = durable("flaky", (ctx) =>
      ctx.stream(
        "words",
        async function* ({ attempt }) {
          calls.push(attempt);
          for (const n of range(5)) {
            yield `${attempt}.${n}`;
            await pause(on.world, 200);
            if (n === 2 && attempt < 3) throw new Error(`attempt ${attempt} broke`);
          }
        },
        { retry: { attempts: 3, delay: "1s", jitter: false } },
      ),
    );
    const bound = flow.with({ ...on });
    const run = await on.world.run(bound.start(undefined, { id: "r" }));
    const seen = await on.world.run(readAll(run.stream("words")));
    const last = range(5).map((n) => `3.${n}`);
    expect(seen).toEqual([
      ...wholeOf(["1.0", "1.1", "1.2"], 1),
      "reset 2",
      ...wholeOf(["2.0", "2.1", "2.2"], 2),
      "reset 3",
      ...wholeOf(last, 3),
    ]);
    expect(await on.world.run(run.result())).toEqual(last);
    expect(calls).toEqual([1, 2, 3]);
    expect(outputOf(await replayOf(on, flow)), "only the last attempt counts").toEqual(last);
    expect(calls).toEqual([1, 2, 3]);
    expect(await on.world.run(readAll(run.stream("words"))), "a late reader sees the same").toEqual(seen);
    const failed = (await run.entries()).filter(({ kind }) => kind === "attempt.failed");
    expect(failed).toMatchObject([
      { key: "words", attempt: 1, stream: true },
      { key: "words", attempt: 2, stream: true },
    ]);
  });

  test("for good gives the workflow its error, the reader too, and the chunks before it", async () => {
    const on = make();
    const flow = durable("lost", async (ctx) => {
      try {
        return await ctx.stream("words", async function* () {
          yield "so far";
          await pause(on.world, 150);
          throw new FatalError("the model is gone");
        });
      } catch (error) {
        const { code, message, cause, details } = error as DurableError;
        return [code, message, (cause as Error).name, details["attempts"]];
      }
    });
    const run = await on.world.run(flow.with({ ...on }).start(undefined, { id: "r" }));
    const seen: unknown[] = [];
    const reading = readAll(run.stream("words"), seen as never);
    await expect(on.world.run(reading)).rejects.toMatchObject({
      code: "step-failed",
      message: 'The stream "words" of run r failed: FatalError: the model is gone',
      cause: { name: "FatalError" },
    });
    expect(seen).toEqual(wholeOf(["so far"]));
    const caught = await on.world.run(run.result());
    expect(caught).toEqual([
      "step-failed",
      'Stream "words" of run r failed: FatalError: the model is gone',
      "FatalError",
      1,
    ]);
    expect(outputOf(await replayOf(on, flow))).toEqual(caught);
  });
});

test("the producer's own failure, before any chunk, is retried like a step's; RetryError is heeded", async () => {
  const on = lab();
  const at: number[] = [];
  const flow = durable("slow-start", (ctx) =>
    ctx.stream("words", ({ attempt }) => {
      at.push(on.world.now());
      if (attempt === 1) throw new RetryError("busy", { after: "40s" });
      return ["here"];
    }),
  );
  expect(outputOf(await runOf(on, flow))).toEqual(["here"]);
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBe(40_000);
  expect(await chunksOf(flow.with({ ...on }).get("r"))).toMatchObject([{ attempt: 2, from: 0 }]);
});

test("H50 a chunk that cannot be recorded fails the stream at once, with its path; the producer is stopped", async () => {
  const on = lab();
  let ended = 0;
  const flow = durable("odd", (ctx) =>
    ctx.stream("words", async function* () {
      try {
        yield "fine";
        yield { inner: [() => 1] };
      } finally {
        ended += 1;
      }
    }),
  );
  const outcome = await runOf(on, flow);
  expect(outcome).toMatchObject({
    status: "failed",
    error: { cause: { code: "not-serializable", message: expect.stringContaining("inner") } },
  });
  expect(ended, "and was not tried again").toBe(1);
});

describe("the time limit of a stream", () => {
  test("is for the whole attempt: the signal fires, the generator is closed, the next attempt has its own", async () => {
    const on = lab();
    const { world, timers } = timed(on.world);
    const ended: string[] = [];
    const flow = durable("slow", (ctx) =>
      ctx.stream(
        "words",
        async function* ({ attempt, signal }) {
          try {
            for (const n of range(10)) {
              await pause(on.world, attempt === 1 ? 250 : 10);
              yield `${attempt}.${n}`;
            }
          } finally {
            ended.push(`${attempt} ${signal.aborted} ${(signal.reason as DurableError | undefined)?.code}`);
          }
        },
        { timeout: "1s", retry: { attempts: 2, delay: 100, jitter: false } },
      ),
    );
    const outcome = await runOf({ ...on, world }, flow);
    expect(outputOf(outcome)).toEqual(range(10).map((n) => `2.${n}`));
    expect(ended).toEqual(["1 true step-timeout", "2 false undefined"]);
    expect(timers()).toBe(0);
    const entries = await chunksOf(flow.with({ ...on }).get("r"));
    expect(isDense(entries)).toBe(true);
    expect(outputOf(await replayOf(on, flow))).toEqual(range(10).map((n) => `2.${n}`));
  });

  test("holds against a producer that hears nothing: the stream fails, and no timer is left behind", async () => {
    const on = lab();
    const { world, timers } = timed(on.world);
    const flow = durable("deaf", (ctx) =>
      ctx.stream(
        "words",
        async function* () {
          yield "one";
          await new Promise(() => {});
        },
        { timeout: 50, retry: false },
      ),
    );
    const outcome = await runOf({ ...on, world }, flow);
    expect(outcome).toMatchObject({ status: "failed", error: { cause: { code: "step-timeout" } } });
    await on.world.advance(1_000);
    expect(timers()).toBe(0);
    expect((await kindsOf(flow.with({ ...on }).get("r"))).slice(-2), "nothing after the end").toEqual([
      "stream.failed words",
      "run.failed",
    ]);
  });
});

describe("a stream that is no longer needed", () => {
  test("H45 on cancel: the signal fires, the generator's finally runs, readers get an error", async () => {
    const on = lab();
    const rejections = unhandled();
    const { world, timers } = timed(on.world);
    const ended: string[] = [];
    const flow = durable("endless", (ctx) =>
      ctx.stream("words", async function* ({ signal }) {
        signal.addEventListener("abort", () => ended.push("signal"));
        try {
          for (let n = 0; ; n++) {
            yield n;
            await pause(on.world, 30);
          }
        } finally {
          ended.push("finally");
        }
      }),
    ).with({ ...on, world });
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    const seen: unknown[] = [];
    const reading = readAll(run.stream("words"), seen as never).catch((error: unknown) => error);
    await on.world.advance(1_000);
    expect(await on.world.run(run.cancel({ reason: "enough" }))).toMatchObject({ status: "cancelled" });
    expect(await on.world.run(reading)).toMatchObject({ code: "cancelled" });
    await on.world.advance(5_000);
    expect(ended).toEqual(["signal", "finally"]);
    const kept = (await chunksOf(run)).flatMap(({ chunks }) => chunks);
    expect(kept.length).toBeGreaterThan(20);
    expect(seen).toEqual(wholeOf(kept));
    expect((await kindsOf(run)).at(-1)).toBe("run.cancelled");
    expect(timers(), "nothing is left to wake").toBe(0);
    expect(await rejections()).toEqual([]);
  });

  test("on a lost race: the signal fires, finally runs, the run ends without waiting for it", async () => {
    const on = lab();
    const ended: string[] = [];
    const flow = durable("raced", (ctx) =>
      ctx.race({
        words: (c) =>
          c.stream("words", async function* ({ signal }) {
            signal.addEventListener("abort", () => ended.push("signal"));
            try {
              for (let n = 0; ; n++) {
                await pause(on.world, 40);
                yield n;
              }
            } finally {
              ended.push("finally");
            }
          }),
        timer: (c) => c.sleep(500),
      }),
    );
    expect(outputOf(await runOf(on, flow))).toMatchObject({ name: "timer" });
    await on.world.advance(1_000);
    expect(ended).toEqual(["signal", "finally"]);
    const kinds = await kindsOf(flow.with({ ...on }).get("r"));
    expect(kinds.join()).not.toMatch(/stream\.(completed|failed)|attempt\.failed/);
    expect(kinds).toContain("stream.chunks race[words]/words");
    const reading = readAll(
      flow
        .with({ ...on })
        .get("r")
        .stream("words"),
    );
    await expect(on.world.run(reading), "it has no end, and is not said to have one").rejects.toMatchObject({
      code: "run-failed",
      message: expect.stringMatching(/^Run r ended before its stream "\w+" was complete\./),
    });
    expect(outputOf(await replayOf(on, flow))).toMatchObject({ name: "timer" });
  });

  test("a ReadableStream is cancelled with the reason", async () => {
    const on = lab();
    const reasons: unknown[] = [];
    const flow = durable("raced", (ctx) =>
      ctx.race({
        words: (c) =>
          c.stream(
            "words",
            () =>
              new ReadableStream<number>({
                pull: async (controller) => {
                  await pause(on.world, 40);
                  controller.enqueue(1);
                },
                cancel: () => void reasons.push("cancelled"),
              }),
          ),
        timer: (c) => c.sleep(500),
      }),
    );
    await runOf(on, flow);
    await on.world.advance(1_000);
    expect(reasons).toEqual(["cancelled"]);
  });
});
