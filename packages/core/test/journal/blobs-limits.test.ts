import { createApp, durable, limits, type Context, type DurableError } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { aesGcm } from "@durable/core/encryption";
import { afterAll, describe, expect, inject, test } from "vitest";
import { Journal } from "../../src/index.ts";
import { failureOf, lab, outputOf, sqliteLab, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { runOf } from "../support/behaviour-lives.ts";
import { setLimits } from "../support/small-sizes.ts";
import { toTheEnd } from "./support/blobs-lives.ts";

/** Values of 32 MiB take long to write and to read: the limits are the real ones in `npm run test:full`. */
const full = inject("full");
if (!full) afterAll(setLimits({ valueBytes: 2 ** 20, streamBytes: 2 ** 21 }));
const { valueBytes, noteBytes, streamBytes } = limits;
/** A text whose written form takes so many bytes: two are its quotes. */
const sized = (bytes: number): string => "x".repeat(bytes - 2);

interface Told {
  readonly code: string;
  readonly message: string;
  readonly details: { readonly size: number; readonly limit: number };
}

/** What the workflow sees of a refusal: the error itself, or that of the step it hangs on. */
function told(error: unknown): Told {
  const { code, message, details } = ((error as Error).cause ?? error) as DurableError;
  return { code, message, details: details as Told["details"] };
}

const kid = durable("kid", (_, input: string) => input.length);
/** Where a value may go, by the one who puts it there; each gives its length back. */
const places: Record<
  string,
  { limit: number; where: string; put: (ctx: Context, value: string) => Promise<unknown> }
> = {
  "a step's output": {
    limit: valueBytes,
    where: 'output of step "big" of run r',
    put: async (ctx, value) => (await ctx.step("big", () => value)).length,
  },
  "a chunk of a stream": {
    limit: valueBytes,
    where: 'chunk of stream "big" of run r',
    put: async (ctx, value) => (await ctx.stream("big", () => [value, "end"]))[0]?.length,
  },
  "the input of a child": {
    limit: valueBytes,
    where: 'input of child "kid" of run r',
    put: (ctx, value) => ctx.child(kid, value),
  },
  "a fallback": {
    limit: valueBytes,
    where: 'fallback of suspend point "big" of run r',
    put: async (ctx, value) => (await ctx.suspend<string>("big", { timeout: 1, fallback: value })).length,
  },
  "a note": {
    limit: noteBytes,
    where: 'note of suspend point "big" of run r',
    put: async (ctx, value) => {
      await ctx.suspend("big", { timeout: 1, fallback: null, note: value });
      return value.length;
    },
  },
};

describe.each(Object.entries(places))("H71 %s", (_, { limit, where, put }) => {
  const flow = durable("sizes", async (ctx) => {
    const found: unknown[] = [];
    for (const [i, bytes] of [limit - 1, limit, limit + 1].entries()) {
      // Names must differ: each is a branch of its own.
      const branch = { [`size ${i}`]: (c: Context) => put(c, sized(bytes)) };
      try {
        found.push(Object.values(await ctx.parallel(branch, { name: "group" }))[0]);
      } catch (error) {
        found.push(told(error));
      }
    }
    return [...found, await ctx.step("after", () => "goes on")];
  });

  test("one byte below and at the limit are kept; over it is an error to catch, and the run goes on", async () => {
    const on = lab();
    const outcome = await on.world.run(toTheEnd(on, flow, { id: "r", input: undefined, answers: {} }));
    const [below, at, over, after] = outputOf(outcome) as [number, number, Told, string];
    expect([below, at, after]).toEqual([limit - 3, limit - 2, "goes on"]);
    expect(over).toMatchObject({ code: "too-large", details: { size: limit + 1, limit } });
    expect(over.message).toContain(`${limit + 1} bytes; the limit is ${limit}`);
    // What is refused when it is made is named as it was written; what comes later, by its key.
    expect([where, where.replace('"big"', '"group#3[size 2]/big"')]).toContain(
      /^The (.* of run r) takes/.exec(over.message)?.[1],
    );
    // Another life reads what is there, and comes to the same end.
    const fork = await on.world.run(flow.with({ ...on }).fork("r", { after: "after", id: "f" }));
    const again = await on.world.run(fork.result());
    expect([again[0], again[1], again[3]]).toEqual([below, at, after]);
  });
});

describe("H71 from outside", () => {
  const flow = durable("answer", async (ctx, input: string) => [
    input.length,
    (await ctx.suspend<string>("ok")).length,
    await ctx.step("after", () => 1),
  ]);
  const parked = async (on: Lab, id: string, input: string): Promise<string> =>
    tokenOf(await on.world.run(flow.with({ ...on }).run(input, { id })));

  test.each(["resume", "record"] as const)(
    "input and answer at the limit and over it, by %s",
    async (way) => {
      const on = lab();
      const app = createApp({ ...on, workflows: [flow] });
      const refused = on.world.run(flow.with({ ...on }).run(sized(valueBytes + 1), { id: "none" }));
      expect(told(await failureOf(refused))).toMatchObject({
        code: "too-large",
        message: expect.stringMatching(
          new RegExp(`^The input of workflow "answer" takes (at least )?${valueBytes + 1} bytes`),
        ),
      });
      expect((await app.list()).runs).toEqual([]);
      const token = await parked(on, "r", sized(valueBytes));
      const error = told(
        await failureOf(on.world.run(app.resume(token, sized(valueBytes + 1), { drive: way === "resume" }))),
      );
      expect(error).toMatchObject({ code: "too-large", details: { size: valueBytes + 1 } });
      expect(error.message).toMatch(/^The answer to .*suspend point.* of run r takes/);
      expect(
        (await on.world.run(app.resume(token, sized(valueBytes), { drive: way === "resume" }))).status,
      ).toBe("accepted");
      const end = await on.world.run(app.advance("r"));
      expect(outputOf(end)).toEqual([valueBytes - 2, valueBytes - 2, 1]);
    },
  );

  test("the edit of a fork: over the limit there is no fork", async () => {
    const on = lab();
    const app = createApp({ ...on, workflows: [flow] });
    const token = await parked(on, "r", "x");
    await on.world.run(app.resume(token, "y"));
    const bound = flow.with({ ...on });
    const over = bound.fork("r", { edit: { ok: sized(valueBytes + 1) }, id: "f" });
    expect(told(await failureOf(over)).message).toMatch(/^The edited output of "ok" takes/);
    const fork = await on.world.run(bound.fork("r", { edit: { ok: sized(valueBytes) }, id: "f" }));
    expect(await on.world.run(fork.result())).toEqual([1, valueBytes - 2, 1]);
  });
});

test("H71 what is thrown is recorded, however large; a stream over its limit fails, and the run goes on", async () => {
  const on = lab();
  const flow = durable("throws", async (ctx) => {
    const failed = (work: Promise<unknown>): Promise<Told> => work.then(() => told(new Error("none")), told);
    const once = { retry: false } as const;
    const thrown = failed(ctx.step("thrown", () => Promise.reject(sized(2 ** 25 + 1)), once));
    const message = failed(ctx.step("message", () => Promise.reject(new Error(sized(2 ** 26))), once));
    const chunk = sized(valueBytes / 2);
    const many = failed(ctx.stream("many", () => Array.from({ length: 5 }, () => chunk), once));
    const lengths = [(await thrown).message.length, (await message).message.length];
    return [lengths, await many, await ctx.step("after", () => 1)];
  });
  const [lengths, stream, after] = outputOf(await runOf(on, flow)) as [number[], Told, number];
  expect(Math.max(...lengths)).toBeLessThan(10_000);
  expect(stream).toMatchObject({ code: "too-large", details: { limit: streamBytes } });
  expect(stream.message).toMatch(/chunk of stream "many" of run r is number 5 and makes \d+ bytes/);
  expect(after).toBe(1);
});

test("H71 a record of a journal without a workflow: over the limit is an error, and the next one is taken", async () => {
  const journal = await Journal.open("direct", lab());
  const over = await failureOf(journal.record("big", () => sized(valueBytes + 1)));
  expect(told(over)).toMatchObject({ code: "too-large", message: expect.stringContaining('"big"') });
  expect((await journal.record("big", () => sized(valueBytes))).length).toBe(valueBytes - 2);
});

describe("H71 bytes of 32 MiB are kept", () => {
  /** Content without repetition, because equal parts are stored once. */
  const all = new Uint8Array(valueBytes + 1);
  for (let i = 0; i < all.length; i++) all[i] = Math.imul(i, 0x9e3779b1) >>> 24;
  const bytes = (length: number): Uint8Array => all.slice(0, length);
  const flow = durable("bytes", async (ctx) => {
    const whole = await ctx.step("whole", () => bytes(valueBytes));
    // The rest is {"part":,"text":"x"}.
    const mixed = await ctx.step("mixed", () => ({ part: bytes(valueBytes - 20), text: "x" }));
    const over = await ctx.step("over", () => bytes(valueBytes + 1), { retry: false }).catch(told);
    return [whole.length, Buffer.compare(whole, bytes(valueBytes)), mixed.part.length, mixed.text, over];
  });
  const expected = [valueBytes, 0, valueBytes - 20, "x", { code: "too-large" }];
  const encryption = aesGcm({
    current: "k",
    keys: { k: Uint8Array.from({ length: 32 }, (_, at) => at + 3) },
  });

  const labs: [string, () => Lab & { readonly encryption?: typeof encryption }][] = [
    ["in SQLite", sqliteLab],
    ["in memory", lab],
    ["in a bucket", () => ({ ...lab(), storage: new RemoteStorage(new MemoryBucket()) })],
    ["encrypted", () => ({ ...lab(), encryption })],
  ];
  test.each(labs)("%s, by this process and by the next", async (_, open) => {
    const on = open();
    const outcome = await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    expect(outputOf(outcome)).toMatchObject(expected);
    const entries = await on.world.run(
      flow
        .with({ ...on })
        .get("r")
        .entries(),
    );
    const values = entries.flatMap((entry) => (entry.kind === "step.completed" ? [entry.value] : []));
    expect(values.map((value) => (value as Uint8Array).length)).toEqual([valueBytes, undefined]);
  });
});
