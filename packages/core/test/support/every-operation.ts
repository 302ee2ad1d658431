/** Workflows that between them use every operation of a context, and a log of the effects they had. */

import { durable, FatalError, parallel, type Context } from "@durable/core";
import { z } from "zod";

export interface Effect {
  readonly key: string;
  readonly idempotencyKey: string;
}

export function everyOperation() {
  const effects: Effect[] = [];
  const effect =
    <T>(key: string, value: T) =>
    ({ idempotencyKey }: { idempotencyKey: string }): T => {
      effects.push({ key, idempotencyKey });
      return value;
    };

  const sequence = durable("sequence", async (ctx, input: { n: number }) => {
    const plan = await ctx.step("plan", effect("plan", { when: new Date(0), n: input.n }), { input });
    const drafts: number[] = [];
    for (let i = 0; i < 3; i++) drafts.push(await ctx.step("draft", effect(`draft${i}`, i)));
    await ctx.sleep("3 days");
    const ok = await ctx.suspend("approve", {
      schema: z.object({ ok: z.boolean(), n: z.number().default(7) }),
    });
    const late = await ctx.suspend("late", { timeout: "2h", fallback: "nobody" });
    const flaky = await ctx.step(
      "flaky",
      ({ attempt, idempotencyKey }) => {
        effects.push({ key: "flaky", idempotencyKey });
        if (attempt < 3) throw new Error(`attempt ${attempt}`);
        return attempt;
      },
      { retry: { attempts: 4, delay: "1m", jitter: false } },
    );
    const caught = await ctx
      .step("fatal", () => {
        throw new FatalError("no");
      })
      .catch((error: Error) => error.message);
    const year = new Date(ctx.now()).getUTCFullYear();
    const draws = [ctx.random(), ctx.uuid("order"), ctx.random()];
    return { plan, drafts, ok, late, flaky, caught, year, draws, version: ctx.version };
  });

  const branches = durable("branches", async (ctx, input: { n: number }) => {
    const review = async (c: Context, name: string) => {
      const pulled = await c.step("pull", effect(`${name}/pull`, name));
      const answer = await c.suspend<string>(name);
      return `${pulled} ${answer} ${await c.step("file", effect(`${name}/file`, 1))}`;
    };
    const reviews = await ctx.parallel({
      credit: (c) => review(c, "credit"),
      appraisal: (c) => review(c, "appraisal"),
    });
    const parts = [0, 1, 2, 3].map((i) => (c: Context) => c.step("part", effect(`part${i}`, i)));
    const list = await parallel(ctx, parts, { concurrency: 2 });
    const settled = await ctx.parallel(
      {
        good: (c) => c.step("a", effect("good", 1)),
        bad: (c) => c.step("b", () => Promise.reject(new FatalError("bad"))),
      },
      { mode: "settled", name: "tries" },
    );
    const first = await ctx.race({
      quick: (c) => c.step("q", effect("quick", "q")),
      slow: (c) => c.sleep("1y"),
      never: (c) => c.suspend("never"),
    });
    const token = ctx.suspend<number>("mailed");
    await ctx.step("mail", effect("mail", token.token.length));
    const mailed = await token;
    const plain = await Promise.all([
      ctx.step("x", effect("x", 1)),
      ctx.step("y", effect("y", 2)),
      ctx.sleep(5),
    ]);
    const winner = await Promise.race([ctx.step("r1", effect("r1", "r1")), ctx.sleep("10s", { name: "r2" })]);
    return {
      n: input.n,
      reviews,
      list,
      bad: settled.bad.status,
      good: settled.good,
      first,
      mailed,
      plain,
      winner,
    };
  });

  return { effects, sequence, branches };
}

export const answers = {
  approve: { ok: true },
  credit: "yes",
  appraisal: "no",
  mailed: 42,
};
