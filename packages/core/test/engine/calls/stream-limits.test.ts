import { durable, limits, type DurableError } from "@durable/core";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { lab, outputOf } from "../../support/behaviour-lab.ts";
import { runOf } from "../../support/behaviour-lives.ts";
import { setLimits } from "../../support/small-sizes.ts";
import { readAll, sqliteLab } from "../../support/stream-lab.ts";

const full = inject("full");

describe("limits of a stream (H71)", () => {
  test("bytes: too-large names run and stream, is tried once, and the run goes on", async () => {
    if (!full) onTestFinished(setLimits({ streamBytes: 2 ** 21 }));
    const big = "x".repeat(limits.streamBytes / 8);
    const on = lab();
    let bodies = 0;
    const flow = durable("large", async (ctx) => {
      const error = await ctx
        .stream("words", function* () {
          bodies += 1;
          for (let n = 0; n < 100; n++) yield `${n}${big}`;
        })
        .catch((caught: unknown) => (caught as Error).cause as DurableError);
      return [(error as DurableError).code, (error as DurableError).message, await ctx.step("on", () => 1)];
    });
    const [code, message, on1] = outputOf(await runOf(on, flow)) as [string, string, number];
    expect(code).toBe("too-large");
    expect(message).toMatch(/stream "words" of run r is number 8 /);
    expect(message).toContain(` ${limits.streamBytes}.`);
    expect([on1, bodies]).toEqual([1, 1]);
  });

  test("chunks: as many as allowed are taken, and one more is too-large", async () => {
    if (!full) onTestFinished(setLimits({ streamChunks: 10_000 }));
    const { streamChunks } = limits;
    const on = lab();
    const produced = { count: 0 };
    const flow = durable("many", (ctx) =>
      ctx
        .stream("words", function* () {
          for (; ; produced.count++) yield 1;
        })
        .catch((error: unknown) => (error as { cause: DurableError }).cause.message),
    );
    expect(outputOf(await runOf(on, flow))).toMatch(
      new RegExp(`stream "words" of run r is number ${streamChunks + 1} .* limits are ${streamChunks} and`),
    );
    expect(produced.count).toBe(streamChunks);
  });

  test("one chunk of the largest size is kept, and one byte more is refused", async () => {
    const on = sqliteLab();
    // Two quotation marks belong to the value.
    const largest = "é".repeat((limits.valueBytes - 2) / 2);
    const flow = durable("edge", async (ctx) => {
      const [chunk] = await ctx.stream("fits", () => [largest]);
      const over = await ctx
        .stream("over", () => [`${largest}x`])
        .catch((error: unknown) => (error as { cause: DurableError }).cause.code);
      return [chunk === largest, over];
    });
    expect(outputOf(await runOf(on, flow))).toEqual([true, "too-large"]);
    const [seen] = await on.world.run(
      readAll(
        flow
          .with({ ...on })
          .get("r")
          .stream("fits"),
      ),
    );
    expect(seen?.[2] === largest).toBe(true);
  });
});
