/**
 * Children and items that fail beside others that run, in a process that dies of any unhandled rejection.
 * Says what the run came to, as JSON, and ends by itself.
 */

import { durable, MemoryStorage, type Context, type DurableError } from "@durable/core";

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const storage = new MemoryStorage();
const ended: string[] = [];

const bad = durable("bad", async (ctx, after: number) => {
  await ctx.step("wait", () => wait(after));
  throw new Error("no");
});
const slow = durable("slow", (ctx, name: string) =>
  ctx.step("work", async ({ signal }) => {
    const told = new Promise((resolve) => signal.addEventListener("abort", resolve));
    // Items run until they are aborted.
    await Promise.race([told, wait(name.startsWith("item") ? 20_000 : 60)]);
    ended.push(`${name} ${signal.aborted ? "told" : "free"}`);
    return name;
  }),
);
const failing = (c: Context, n: number): Promise<unknown> =>
  n === 1 ? c.child(bad, 20) : c.child(slow, `item ${n}`);

const flow = durable(
  "strict",
  async (ctx) => {
    const caught: string[] = [];
    const note = (error: DurableError): void => void caught.push(error.code);
    // One item rejects while others run, and while they write down what they have.
    await ctx.map([0, 1, 2], failing).catch(note);
    await ctx
      .map(
        [0, 1, 2],
        (c, n) =>
          c.step("work", () => (n === 1 ? Promise.reject(new Error("no")) : wait(40).then(() => n)), {
            retry: false,
          }),
        { name: "steps" },
      )
      .catch(note);
    // Decided while a loser ends.
    const raced = await ctx.race({
      quick: (c) => c.child(slow, "quick"),
      late: (c) => c.child(slow, "late"),
    });
    // Kept, awaited much later, or never.
    const kept = ctx.child(bad, 0, { name: "kept" });
    const left = [ctx.child(bad, 0, { name: "left" }), ctx.map([1], failing, { name: "left map" })];
    await ctx.child(slow, "beside");
    await kept.catch(note);
    return { caught, raced: raced.name, left: left.length };
  },
  { storage },
);

const run = await flow.start(undefined, { id: "r" });
const output = await run.result();
while (ended.filter((line) => line.startsWith("item")).length < 2) await wait(10);
const { runs } = await storage.list({ limit: 100 });
const statuses = runs.map(({ workflow, status }) => `${workflow} ${status}`).toSorted();
const kinds = (await run.entries()).map((entry) =>
  "key" in entry ? `${entry.kind} ${entry.key}` : entry.kind,
);
console.log(JSON.stringify({ output, ended, statuses, kinds }));
// Timers of bodies that were aborted.
process.exit();
