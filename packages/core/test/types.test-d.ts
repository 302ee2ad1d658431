/** The types users see, with nothing annotated in the code under test. Checked by `npm run types`. */

import * as v from "valibot";
import { expectTypeOf } from "vitest";
import * as z from "zod";
import {
  createApp,
  durable,
  DurableError,
  fork,
  Journal,
  parallel,
  secret,
  type AnyWorkflow,
  type Context,
  type ListedRun,
  type ListPage,
  type Outcome,
  type Resolution,
  type ResumeResult,
  type Run,
  type Settled,
  type StreamEvent,
  type SuspendPoint,
  type Uncertain,
  type Workflow,
} from "../src/index.ts";
import type { Entry, SecretValue } from "../src/types.ts";

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
    case "paused":
      expectTypeOf(outcome.reason).toEqualTypeOf<string | null>();
      expectTypeOf(outcome.waiting).toEqualTypeOf<readonly SuspendPoint[]>();
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
  expectTypeOf(await flow.list({ status: "suspended" })).toEqualTypeOf<ListPage<ListedRun>>();
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

durable("streams", async (ctx) => {
  async function* tokens(): AsyncGenerator<string> {
    yield "a";
  }
  expectTypeOf(await ctx.stream("generator", tokens)).toEqualTypeOf<string[]>();
  expectTypeOf(await ctx.stream("later", async () => tokens())).toEqualTypeOf<string[]>();
  expectTypeOf(await ctx.stream("list", () => [1, 2])).toEqualTypeOf<number[]>();
  expectTypeOf(await ctx.stream("web", () => new ReadableStream<Uint8Array>())).toEqualTypeOf<Uint8Array[]>();
  const options = { retry: false, timeout: "1m", input: ["any"], was: "old name" } as const;
  const told = await ctx.stream(
    "options",
    async function* ({ attempt, signal }) {
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      yield attempt;
    },
    options,
  );
  expectTypeOf(told).toEqualTypeOf<number[]>();
  // @ts-expect-error a producer gives a list of chunks
  void ctx.stream("none", () => 5);
  // @ts-expect-error streams have no schema
  void ctx.stream("schema", tokens, { schema: Review });
});

durable("children", async (ctx) => {
  const loan = durable("loan", async (_ctx, input: { amount: number }) => `${input.amount}`);
  expectTypeOf(await ctx.child(loan, { amount: 5 })).toEqualTypeOf<string>();
  expectTypeOf(await ctx.child(loan, { amount: 5 }, { name: "second" })).toEqualTypeOf<string>();
  // @ts-expect-error the input of the child
  void ctx.child(loan, { amount: "5" });
  // @ts-expect-error it needs one
  void ctx.child(loan);
  const idle = durable("idle", () => null);
  expectTypeOf(await ctx.child(idle)).toEqualTypeOf<null>();
  const checked = durable("checked", async (_ctx, input) => input.text, {
    input: z.object({ text: Length }),
  });
  expectTypeOf(await ctx.child(checked, { text: "goes in as a text" })).toEqualTypeOf<number>();
  // @ts-expect-error what goes in is a text
  void ctx.child(checked, { text: 5 });
  // @ts-expect-error a workflow, not a function
  void ctx.child(() => 1);
});

durable("maps", async (ctx) => {
  const items = ["a", "b"] as const;
  const lengths = await ctx.map(items, async (c, item, index) => {
    expectTypeOf(c).toEqualTypeOf<Context>();
    expectTypeOf(item).toEqualTypeOf<"a" | "b">();
    expectTypeOf(index).toEqualTypeOf<number>();
    return item.length;
  });
  expectTypeOf(lengths).toEqualTypeOf<number[]>();
  const keyed = await ctx.map([{ id: 1 }], (_c, { id }) => id, { key: ({ id }) => `${id}`, concurrency: 2 });
  expectTypeOf(keyed).toEqualTypeOf<number[]>();
  // @ts-expect-error a key is a text
  void ctx.map([1], () => 1, { key: (n) => n });
});

durable("uncertain steps", async (ctx) => {
  const charge = async (): Promise<string> => "id";
  expectTypeOf(await ctx.step("a", charge, { onUncertain: "suspend" })).toEqualTypeOf<string>();
  const onUncertain = async (uncertain: Uncertain): Promise<Resolution> => {
    expectTypeOf(uncertain.idempotencyKey).toEqualTypeOf<string>();
    return uncertain.attempt > 1 ? { status: "failed", message: "no" } : { status: "completed", value: 1 };
  };
  expectTypeOf(await ctx.step("b", charge, { onUncertain })).toEqualTypeOf<string>();
  // @ts-expect-error no such way
  void ctx.step("c", charge, { onUncertain: "ignore" });
  // @ts-expect-error a function that decides
  void ctx.step("d", charge, { onUncertain: () => ({ status: "maybe" }) });
});

async function readers(run: Run<string>): Promise<void> {
  for await (const event of run.stream<string>("tokens", { from: 3, attempt: 2 })) {
    expectTypeOf(event).toEqualTypeOf<StreamEvent<string>>();
    if (event.type === "chunk") expectTypeOf(event.value).toEqualTypeOf<string>();
  }
}
void readers;

async function journals(): Promise<void> {
  const journal = await Journal.open("chat-1");
  expectTypeOf(await journal.record("answer", async () => 5)).toEqualTypeOf<number>();
  const checked = await journal.record("checked", () => "four", { schema: Length, input: ["any"] });
  expectTypeOf(checked).toEqualTypeOf<number>();
  const stream = journal.recordStream("tokens", () => ["a"]);
  expectTypeOf(stream).toEqualTypeOf<ReadableStream<string>>();
  expectTypeOf(journal.has("answer")).toEqualTypeOf<boolean>();
  expectTypeOf(journal.entries()).toEqualTypeOf<Entry[]>();
  // @ts-expect-error it writes outcomes, and drives nobody
  void Journal.open("chat-1", { patience: 5 });
}
void journals;

function others(): void {
  expectTypeOf(secret("no-secret-at-all", "NAME")).toEqualTypeOf<SecretValue>();
  expectTypeOf(secret("no-secret-at-all").reveal()).toEqualTypeOf<string>();
  // A workflow of any kind, by the type that was there before, and by the one for lists.
  const loan = durable("loan", async (_ctx, input: { amount: number }) => input.amount);
  expectTypeOf(loan).toExtend<Workflow<never, unknown>>();
  expectTypeOf(loan).toExtend<AnyWorkflow>();
  expectTypeOf(loan).not.toExtend<Workflow<{ amount: number }, string>>();
}
void others;
