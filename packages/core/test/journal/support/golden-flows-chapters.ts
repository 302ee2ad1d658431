/**
 * The workflows of nonces, chapters, long lines of forks, and ends with leftovers.
 * As with those before, changing one changes what the journals prove.
 */

import { durable, FatalError } from "@durable/core";
import { pace } from "./golden-flows.ts";

const porter = durable("porter", async (ctx, name: string) => {
  const key = await ctx.step("lift", ({ idempotencyKey }) => idempotencyKey);
  const asked = name === "shy" ? await ctx.suspend<string>("ask") : "not asked";
  return { runId: ctx.runId, key, asked, draw: ctx.random() };
});

/** All that is derived from a nonce: keys, ids of children, waits and draws. */
export const voyage = durable("voyage", async (ctx, input: { readonly to: string }) => {
  const plan = await ctx.step("plan", ({ idempotencyKey }) => ({ to: input.to, idempotencyKey }), { input });
  const draws = [ctx.random(), ctx.uuid("ticket"), ctx.now()];
  const both = await ctx.parallel({
    visa: (c) => c.suspend<string>("visa"),
    porter: (c) => c.child(porter, "shy"),
  });
  await ctx.sleep("1 day");
  const packed = await ctx.step("pack", () => pace.wait().then(() => "packed"));
  const rated = await ctx.suspend<number>("rate", { timeout: "30 days", fallback: 0 });
  return { plan, draws, both, packed, rated, after: [ctx.random(), ctx.uuid("ticket"), ctx.now()] };
});

/** Text that is long enough for a blob. Half of it is the same on every day. */
const pages = (day: number): string[] => [
  "the sea, the wind, the sails. ".repeat(80),
  `day ${day}: nothing but water. `.repeat(80),
];

/** One chapter a day, until it is told to end. Each leaves a failure behind that it never looks at. */
export const logbook = durable(
  "logbook",
  async (ctx, { day, notes }: { readonly day: number; readonly notes: readonly string[] }) => {
    const page = await ctx.step("page", () => pages(day));
    void ctx.step("lost", () => Promise.reject(new FatalError(`blown away on day ${day}`)));
    const note = await ctx.suspend<string>("note", { note: { page } });
    if (note !== "end") return ctx.continueAs({ day: day + 1, notes: [...notes, note] });
    const carried = await ctx.child(porter, "quick");
    return { day, notes, lines: page.length, carried, draw: ctx.random(), now: ctx.now() };
  },
);

export const captain = durable("captain", async (ctx) => {
  const book = await ctx.child(logbook, { day: 1, notes: [] });
  return { book, draw: ctx.uuid() };
});

/** A step that has an effect, and one during which the storage may lose it. */
export const courier = durable("courier", async (ctx) => {
  const plan = await ctx.step("plan", () => "by sea");
  const paid = await ctx.step("charge", () => "paid", { onUncertain: "suspend", input: plan });
  const sent = await ctx.step("send", () => pace.wait().then(() => "sent"));
  return { plan, paid, sent };
});

/** A long step that says how far it came, fails, and goes on from there; then a wait. */
export const copyist = durable("copyist", async (ctx) => {
  const copied = await ctx.step(
    "copy",
    ({ heartbeat, progress }) => {
      if (progress !== undefined) return progress;
      heartbeat({ page: 7, at: new Date(7) });
      throw new Error("the ink is out");
    },
    { retry: { attempts: 2, delay: "1s", jitter: false } },
  );
  return { copied, read: await ctx.suspend<string>("read") };
});

/** One step and one wait for each round: forks of it make a line. */
export const rounds = durable("rounds", async (ctx) => {
  const seen: unknown[] = [];
  for (let n = 1; ; n++) {
    seen.push(await ctx.step("round", () => n));
    const told = await ctx.suspend<string>("more");
    seen.push(told);
    if (told === "end") return seen;
  }
});

/** Ends while a step, a stream and a child go on, and without a look at a failure. */
export const hasty = durable("hasty", async (ctx, how: "ends" | "fails") => {
  void ctx.step("slow", () => new Promise<never>(() => {}));
  void ctx.stream("talk", async function* () {
    yield "first";
    await new Promise<never>(() => {});
  });
  void ctx.child(porter, "shy");
  void ctx.step("bad", () => Promise.reject(new FatalError("not looked at")));
  const done = await ctx.step("quick", () => pace.wait().then(() => "done"));
  if (how === "fails") throw new FatalError("failed in haste");
  return done;
});

/** Reads two messages in each of two chapters, shows how many, and asks whether to go on. */
export const postbox = durable("postbox", async (ctx, read: readonly unknown[]): Promise<unknown> => {
  const two = [await ctx.receive("letter"), await ctx.receive("letter", { timeout: "30 days" })];
  const all = [...read, ...two];
  ctx.report({ read: all.length });
  if (read.length === 0) return ctx.continueAs(all);
  const answer = await ctx.suspend("done").catch((error: unknown) => `no: ${(error as Error).message}`);
  return { all, answer };
});

export const goldenFlowsOfChapters = [
  copyist,
  courier,
  porter,
  voyage,
  logbook,
  captain,
  rounds,
  hasty,
  postbox,
];
