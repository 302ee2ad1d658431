/**
 * Branches that fail beside bodies that run, in a process that dies of any unhandled rejection. Says what the
 * run came to, as JSON, and ends by itself.
 */

import { durable, MemoryStorage, type Context } from "@durable/core";

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const bodies: string[] = [];
const bad = (c: Context): Promise<never> =>
  c.step("bad", () => Promise.reject(new Error("no")), { retry: false });
const slow = (name: string) => (c: Context) =>
  c.step(name, async () => {
    await wait(40);
    bodies.push(name);
    return name;
  });

const flow = durable(
  "strict",
  async (ctx) => {
    const caught: string[] = [];
    const note = (error: unknown): void => void caught.push((error as { code: string }).code);
    await ctx.parallel({ bad, slow: slow("all") }).catch(note);
    await ctx.race({ bad, slow: slow("race") }).catch(note);
    // Kept, awaited much later, or never.
    const kept = ctx.parallel([bad, bad], { name: "kept" });
    const left = [
      bad(ctx),
      ctx.parallel({ a: bad, b: bad }, { name: "left" }),
      ctx.race({ bad }, { name: "lone" }),
    ];
    await slow("beside")(ctx);
    await kept.catch(note);
    const settled = await ctx.parallel({ bad, slow: slow("settled") }, { mode: "settled", name: "settled" });
    return { caught, left: left.length, settled: Object.values(settled).map(({ status }) => status) };
  },
  { storage: new MemoryStorage() },
);

const run = await flow.start(undefined, { id: "r" });
const output = await run.result();
const kinds = (await run.entries()).map((entry) =>
  "key" in entry ? `${entry.kind} ${entry.key}` : entry.kind,
);
console.log(JSON.stringify({ output, bodies, kinds }));
