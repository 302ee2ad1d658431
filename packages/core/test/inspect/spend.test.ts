import { describe, expect, it } from "vitest";
import { durable, DurableError, FatalError, Journal, MemoryStorage, type Usage } from "../../src/index.ts";
import { spendOf } from "../../src/inspect.ts";
import type { RunEntry } from "../../src/journal/outcome.ts";

const small: Usage = { model: "small-1", provider: "acme", inputTokens: 10, outputTokens: 2 };

/** The attempts of a run that say what they used, as `kind key: usage`. */
function used(entries: readonly RunEntry[]): unknown[] {
  return entries.flatMap((entry) =>
    "usage" in entry && entry.usage !== undefined ? [[entry.kind, entry.key, entry.usage]] : [],
  );
}

describe("what attempts used", () => {
  it("stands beside the outcome of a step, one sum per model", async () => {
    const flow = durable(
      "metered",
      (ctx) =>
        ctx.step("ask", ({ meter }) => {
          meter(small);
          meter({ ...small, cachedInputTokens: 4 });
          meter({ model: "large-1", inputTokens: 7, outputTokens: 1, reasoningTokens: 1 });
          return "said";
        }),
      { storage: new MemoryStorage() },
    );
    await flow.run(undefined, { id: "r" });
    expect(used(await flow.get("r").entries())).toEqual([
      [
        "step.completed",
        "ask",
        [
          { model: "small-1", provider: "acme", inputTokens: 20, outputTokens: 4, cachedInputTokens: 4 },
          { model: "large-1", inputTokens: 7, outputTokens: 1, reasoningTokens: 1 },
        ],
      ],
    ]);
  });

  it("is kept of attempts that fail, for they are paid, too", async () => {
    const flow = durable(
      "failing",
      (ctx) =>
        ctx.step(
          "ask",
          ({ meter, attempt }) => {
            meter(small);
            throw attempt === 1 ? new Error("busy") : new FatalError("no");
          },
          { retry: { delay: 0 } },
        ),
      { storage: new MemoryStorage() },
    );
    await flow.run(undefined, { id: "r" });
    expect(used(await flow.get("r").entries())).toEqual([
      ["attempt.failed", "ask", [small]],
      ["step.failed", "ask", [small]],
    ]);
  });

  it("of a stream stands at its end, with the time of the first chunk", async () => {
    const flow = durable(
      "streamed",
      (ctx) =>
        ctx.stream("tell", async function* ({ meter }) {
          yield "a";
          await new Promise((resolve) => setTimeout(resolve, 20));
          yield "b";
          meter(small);
        }),
      { storage: new MemoryStorage() },
    );
    await flow.run(undefined, { id: "r" });
    const entries = await flow.get("r").entries();
    expect(used(entries)).toEqual([["stream.completed", "tell", [small]]]);
    const end = entries.find((entry) => entry.kind === "stream.completed");
    expect(end?.firstAt).toBeGreaterThanOrEqual(end?.startedAt ?? Number.NaN);
    expect(end?.firstAt).toBeLessThan(end?.at ?? Number.NaN);
  });

  it("is kept by a journal without a workflow", async () => {
    const storage = new MemoryStorage();
    const journal = await Journal.open("j", { storage });
    await journal.record("ask", ({ meter }) => meter(small));
    const failed = journal.record("fail", ({ meter }) => {
      meter(small);
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
    const stream = journal.recordStream("tell", function* ({ meter }) {
      yield 1;
      meter(small);
    });
    for await (const chunk of stream) expect(chunk).toBe(1);
    const again = await Journal.open("j", { storage });
    expect(used(again.entries())).toEqual([
      ["step.completed", "ask", [small]],
      ["attempt.failed", "fail", [small]],
      ["stream.completed", "tell", [small]],
    ]);
  });

  it.each([
    ["no model", { ...small, model: "" }],
    ["a fraction", { ...small, inputTokens: 0.5 }],
    ["less than nothing", { ...small, outputTokens: -1 }],
    ["no number", { ...small, reasoningTokens: Number.NaN }],
    ["a text", { ...small, cachedInputTokens: "9" as unknown as number }],
    ["a name without end", { ...small, provider: "x".repeat(201) }],
  ])("that says %s is refused, by the name of the step", async (_, usage) => {
    const flow = durable("bad", (ctx) => ctx.step("ask", ({ meter }) => meter(usage), { retry: false }), {
      storage: new MemoryStorage(),
    });
    const outcome = await flow.run(undefined, { id: "r" });
    const error = outcome.status === "failed" ? outcome.error : undefined;
    expect(error?.message).toContain('The usage of "ask" of run r');
  });

  it("is bounded: a 33rd model is one too many, and a further call of a known one is not", async () => {
    const codes: unknown[] = [];
    const flow = durable(
      "many",
      (ctx) =>
        ctx.step("ask", ({ meter }) => {
          for (let i = 0; i < 33; i++) {
            try {
              meter({ ...small, model: `model-${i}` });
            } catch (error) {
              codes.push(DurableError.is(error) && [i, error.code]);
            }
          }
          meter({ ...small, model: "model-31" });
        }),
      { storage: new MemoryStorage() },
    );
    await flow.run(undefined, { id: "r" });
    expect(codes).toEqual([[32, "invalid-options"]]);
    const [[, , usage]] = used(await flow.get("r").entries()) as [[string, string, Usage[]]];
    expect(usage).toHaveLength(32);
    expect(usage.at(-1)).toEqual({ ...small, model: "model-31", inputTokens: 20, outputTokens: 4 });
  });

  it("counts what is written to a cache, at a price of its own", () => {
    const written = { ...small, inputTokens: 100, cachedInputTokens: 30, cacheWriteTokens: 50 };
    const other = { ...written, note: "a field of a later version" };
    const { usage } = spendOf([written, other, small]);
    expect(usage).toEqual([
      {
        ...small,
        inputTokens: 210,
        outputTokens: 6,
        cachedInputTokens: 60,
        cacheWriteTokens: 100,
      },
    ]);
    const million = 1_000_000;
    const price = { input: million, output: 0 };
    expect(spendOf([written], { "small-1": price }).cost).toBe(100);
    expect(spendOf([written], { "small-1": { ...price, cacheWrite: 1.25 * million } }).cost).toBe(112.5);
    expect(
      spendOf([written], { "small-1": { ...price, cachedInput: 0, cacheWrite: 2 * million } }).cost,
    ).toBe(120);
  });
});
