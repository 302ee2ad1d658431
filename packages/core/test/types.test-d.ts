/** The types users see, with nothing annotated in the code under test. Checked by `npm run types`. */

import * as v from "valibot";
import { expectTypeOf } from "vitest";
import * as z from "zod";
import {
  createApp,
  durable,
  DurableError,
  fork,
  parallel,
  type Context,
  type Entry,
  type ListPage,
  type Outcome,
  type ResumeResult,
  type Run,
  type Settled,
  type SuspendPoint,
} from "../src/index.ts";

const Review = z.object({ approved: z.boolean() });
/** Goes in as a text, comes out as a number. */
const Length = z.string().transform((text) => text.length);

durable("steps", async (ctx) => {
  expectTypeOf(ctx).not.toBeAny();
  const sync = await ctx.step("sync", () => ({ a: 1 }));
  expectTypeOf(sync).toEqualTypeOf<{ a: number }>();
  const later = await ctx.step("async", async () => "text");
  expectTypeOf(later).toEqualTypeOf<string>();
  const either = await ctx.step("either", () => (Math.random() > 1 ? 5 : Promise.resolve("x")));
  expectTypeOf(either).toEqualTypeOf<string | number>();
  const nothing = await ctx.step("nothing", async () => {});
  expectTypeOf(nothing).toEqualTypeOf<void>();
  const told = await ctx.step("told", ({ attempt, signal, idempotencyKey }) => {
    expectTypeOf(attempt).toEqualTypeOf<number>();
    expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(idempotencyKey).toEqualTypeOf<string>();
    return [attempt, idempotencyKey] as const;
  });
  expectTypeOf(told).toEqualTypeOf<readonly [number, string]>();
  const options = await ctx.step("options", () => 1, {
    retry: { attempts: 5, delay: "2s", factor: 2, maxDelay: 60_000, jitter: false },
    timeout: "30s",
    input: { any: ["data"] },
    was: "old name",
  });
  expectTypeOf(options).toEqualTypeOf<number>();
  expectTypeOf(await ctx.step("once", () => 1, { retry: false })).toEqualTypeOf<number>();

  // @ts-expect-error work is a function
  void ctx.step("eager", Promise.resolve(1));
  // @ts-expect-error a name is needed
  void ctx.step(() => 1);
  // @ts-expect-error no such option
  void ctx.step("typo", () => 1, { retires: 3 });
});

durable("steps with schemas", async (ctx) => {
  const checked = await ctx.step("parsed", () => JSON.parse("{}"), { schema: Review });
  expectTypeOf(checked).toEqualTypeOf<{ approved: boolean }>();
  const same = await ctx.step("same", () => ({ approved: true }), { schema: Review });
  expectTypeOf(same).toEqualTypeOf<{ approved: boolean }>();
  const transformed = await ctx.step("transform", () => "four", { schema: Length });
  expectTypeOf(transformed).toEqualTypeOf<number>();
  // What comes from outside is unknown until the schema has seen it.
  const fetched = await ctx.step("fetched", async (): Promise<unknown> => ({}), { schema: Review });
  expectTypeOf(fetched).toEqualTypeOf<{ approved: boolean }>();
  const valibot = await ctx.step("valibot", async () => "5", {
    schema: v.pipe(v.string(), v.transform(Number)),
    retry: false,
  });
  expectTypeOf(valibot).toEqualTypeOf<number>();
});

durable("waiting", async (ctx) => {
  const answer = await ctx.suspend("approve", { schema: Review, note: { amount: 5 } });
  expectTypeOf(answer).toEqualTypeOf<{ approved: boolean }>();
  expectTypeOf(await ctx.suspend("length", { schema: Length })).toEqualTypeOf<number>();
  expectTypeOf(await ctx.suspend("anything")).toEqualTypeOf<unknown>();
  expectTypeOf(await ctx.suspend("anything", { timeout: "3 days" })).toEqualTypeOf<unknown>();
  expectTypeOf(await ctx.suspend<{ ok: boolean }>("said")).toEqualTypeOf<{ ok: boolean }>();
  const withFallback = await ctx.suspend("fallback", { schema: Review, timeout: "1h", fallback: null });
  expectTypeOf(withFallback).toEqualTypeOf<{ approved: boolean } | null>();
  const literal = await ctx.suspend("literal", { schema: Review, timeout: 5, fallback: "nobody" });
  expectTypeOf(literal).not.toBeAny();
  expectTypeOf<typeof literal>().extract<string>().toExtend<string>();
  expectTypeOf(await ctx.suspend("no schema", { fallback: 5 })).toEqualTypeOf<unknown>();
  const kept = ctx.suspend("kept", { schema: Review });
  expectTypeOf(kept.token).toEqualTypeOf<string>();
  expectTypeOf(kept.key).toEqualTypeOf<string>();
  expectTypeOf(await kept).toEqualTypeOf<{ approved: boolean }>();
  expectTypeOf(ctx.sleep("3 days")).toEqualTypeOf<Promise<void>>();
  expectTypeOf(ctx.sleep(new Date())).toEqualTypeOf<Promise<void>>();
  expectTypeOf([ctx.now(), ctx.random("x")]).toEqualTypeOf<number[]>();
  expectTypeOf([ctx.uuid(), ctx.runId]).toEqualTypeOf<string[]>();
  expectTypeOf(ctx.version).toEqualTypeOf<string | null>();
  expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
});

durable("side by side", async (ctx) => {
  const record = await ctx.parallel({
    credit: (c) => {
      expectTypeOf(c).toEqualTypeOf<Context>();
      return c.step("pull", () => 720);
    },
    appraisal: async (c) => ({ value: await c.step("visit", () => "house") }),
    plain: () => true,
  });
  expectTypeOf(record).toEqualTypeOf<{ credit: number; appraisal: { value: string }; plain: boolean }>();

  const tuple = await ctx.parallel([(c) => c.step("a", () => 1), async () => "two", () => null]);
  expectTypeOf(tuple).toEqualTypeOf<[number, string, null]>();

  const branches = [1, 2, 3].map((n) => (c: Context) => c.step("double", () => n * 2));
  expectTypeOf(await ctx.parallel(branches)).toEqualTypeOf<number[]>();
  void ctx.parallel(
    [1, 2, 3].map((n) => (c) => {
      expectTypeOf(c).toEqualTypeOf<Context>();
      return n;
    }),
  );

  const settled = await ctx.parallel(
    { credit: (c) => c.step("pull", () => 720), other: async () => "x" },
    { mode: "settled", concurrency: 2, name: "checks" },
  );
  expectTypeOf(settled).toEqualTypeOf<{ credit: Settled<number>; other: Settled<string> }>();
  if (settled.credit.status === "fulfilled") expectTypeOf(settled.credit.value).toEqualTypeOf<number>();
  else expectTypeOf(settled.credit.reason).toEqualTypeOf<unknown>();
  const settledTuple = await ctx.parallel([() => 1, async () => "x"], { mode: "settled" });
  expectTypeOf(settledTuple).toEqualTypeOf<[Settled<number>, Settled<string>]>();
  expectTypeOf(await ctx.parallel({ a: () => 1 }, { mode: "all" })).toEqualTypeOf<{ a: number }>();

  expectTypeOf(await parallel(ctx, { a: () => 1, b: async () => "x" })).toEqualTypeOf<{
    a: number;
    b: string;
  }>();
  const byFunction = await parallel(ctx, [() => 1], { mode: "settled" });
  expectTypeOf(byFunction).toEqualTypeOf<[Settled<number>]>();

  const first = await ctx.race({
    answer: (c) => c.suspend("approve", { schema: Review }),
    timeout: (c) => c.sleep("3 days"),
    step: (c) => c.step("poll", () => 5),
  });
  expectTypeOf(first.name).toEqualTypeOf<"answer" | "timeout" | "step">();
  if (first.name === "answer") expectTypeOf(first.value).toEqualTypeOf<{ approved: boolean }>();
  else if (first.name === "step") expectTypeOf(first.value).toEqualTypeOf<number>();
  else expectTypeOf(first.value).toEqualTypeOf<void>();

  // @ts-expect-error branches are functions
  void ctx.parallel({ a: ctx.step("eager", () => 1) });
  // @ts-expect-error a race is told by names
  void ctx.race([() => 1]);
});

async function outcomes(): Promise<void> {
  const flow = durable("outcomes", async (ctx) => ({ total: await ctx.step("sum", () => 5) }));
  const outcome = await flow.run();
  expectTypeOf(outcome).toEqualTypeOf<Outcome<{ total: number }>>();
  expectTypeOf(outcome.runId).toEqualTypeOf<string>();
  switch (outcome.status) {
    case "completed":
      expectTypeOf(outcome.output).toEqualTypeOf<{ total: number }>();
      break;
    case "failed":
    case "blocked":
      expectTypeOf(outcome.error).toEqualTypeOf<DurableError>();
      break;
    case "suspended":
      expectTypeOf(outcome.waiting).toEqualTypeOf<readonly SuspendPoint[]>();
      expectTypeOf(outcome.wakeAt).toEqualTypeOf<number | null>();
      break;
    case "cancelled":
    case "running":
      break;
    default:
      expectTypeOf(outcome).toEqualTypeOf<never>();
  }
  // @ts-expect-error only a completed run has an output
  void outcome.output;
  expectTypeOf(await flow.resume("token", { ok: true })).toEqualTypeOf<ResumeResult<{ total: number }>>();
  expectTypeOf(flow.get("id")).toEqualTypeOf<Run<{ total: number }>>();
  expectTypeOf(await flow.get("id").result()).toEqualTypeOf<{ total: number }>();
  expectTypeOf(await flow.get("id").entries()).toEqualTypeOf<Entry[]>();
  expectTypeOf(await flow.list({ status: "suspended" })).toEqualTypeOf<ListPage>();
  expectTypeOf(await flow.cancel("id")).toEqualTypeOf<Outcome<{ total: number }>>();
}
void outcomes;

async function inputs(): Promise<void> {
  const none = durable("none", (ctx) => ctx.now());
  expectTypeOf(await none.run()).toEqualTypeOf<Outcome<number>>();
  void none.start(undefined, { id: "r-1" });

  const annotated = durable("annotated", async (_ctx, input: { amount: number }) => input.amount);
  expectTypeOf<Parameters<typeof annotated.run>[0]>().toEqualTypeOf<{ amount: number }>();
  void annotated.run({ amount: 5 }, { id: "r-1" });
  // @ts-expect-error the input is needed
  void annotated.run();
  // @ts-expect-error of that shape
  void annotated.run({ amount: "5" });

  const maybe = durable("maybe", async (_ctx, input: number | undefined) => input ?? 0);
  expectTypeOf(await maybe.run()).toEqualTypeOf<Outcome<number>>();
  expectTypeOf(await maybe.run(5)).toEqualTypeOf<Outcome<number>>();

  const optional = durable("optional", async (_ctx, input?: { a: number }) => input?.a ?? 0);
  expectTypeOf(await optional.run()).toEqualTypeOf<Outcome<number>>();
  expectTypeOf<Parameters<typeof optional.run>[0]>().toEqualTypeOf<{ a: number } | undefined>();

  const schema = durable(
    "schema",
    async (_ctx, input) => {
      expectTypeOf(input).toEqualTypeOf<{ text: number; count: number }>();
      return input.text;
    },
    { input: z.object({ text: Length, count: z.number().default(3) }), version: "v2" },
  );
  expectTypeOf<Parameters<typeof schema.run>[0]>().toEqualTypeOf<{
    text: string;
    count?: number | undefined;
  }>();
  expectTypeOf(await schema.run({ text: "four" })).toEqualTypeOf<Outcome<number>>();
  // @ts-expect-error what goes in is a text
  void schema.run({ text: 4 });
  expectTypeOf(await schema.with({ patience: 0 }).run({ text: "x" })).toEqualTypeOf<Outcome<number>>();
}
void inputs;

async function forks(): Promise<void> {
  const flow = durable("forks", async (_ctx, input: { amount: number }) => input.amount);
  const run = await flow.start({ amount: 5 });
  expectTypeOf(run).toEqualTypeOf<Run<number, { amount: number }>>();
  expectTypeOf(await run.fork({ from: "plan", input: { amount: 6 } })).toEqualTypeOf<typeof run>();
  expectTypeOf(await fork(run, { after: ["plan", "draft"], label: "x" })).toEqualTypeOf<typeof run>();
  expectTypeOf(await flow.fork("id", { edit: { plan: [1, 2] }, id: "f-1" })).toEqualTypeOf<typeof run>();
  // @ts-expect-error the input of the workflow
  void flow.fork("id", { from: "plan", input: { amount: "6" } });
  // @ts-expect-error the input of the workflow
  void fork(run, { from: "plan", input: 6 });
}
void forks;

async function apps(): Promise<void> {
  const loan = durable("loan", async (_ctx, input: { amount: number }) => input.amount);
  const deploy = durable("deploy", async (_ctx, input) => input.tag, {
    input: z.object({ tag: z.string() }),
  });
  const idle = durable("idle", () => null);
  const app = createApp({ workflows: [loan, deploy, idle] });
  expectTypeOf(await app.resume("token", 1)).toEqualTypeOf<ResumeResult>();
  expectTypeOf(await app.advance("id")).toEqualTypeOf<Outcome<unknown>>();
  expectTypeOf(app.get("id")).toEqualTypeOf<Run>();
  // @ts-expect-error a workflow, not a function
  createApp({ workflows: [async () => 1] });
}
void apps;

function errors(error: unknown): void {
  if (DurableError.is(error, "conflict")) expectTypeOf(error.code).toEqualTypeOf<"conflict">();
  if (DurableError.is(error)) expectTypeOf(error.details).toEqualTypeOf<Readonly<Record<string, unknown>>>();
  // @ts-expect-error no such code
  DurableError.is(error, "conflicts");
}
void errors;
