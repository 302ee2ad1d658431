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
      ({ attempt, idempotencyKey, heartbeat, progress }) => {
        effects.push({ key: "flaky", idempotencyKey });
        if ((progress ?? 0) !== attempt - 1) throw new Error(`progress ${String(progress)}`);
        heartbeat(attempt);
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

  return { effects, sequence, branches, works: works(effect), family: family(effect) };
}

type MakeEffect = <T>(key: string, value: T) => (info: { idempotencyKey: string }) => T;

/** Streams, a map, uncertain steps and a large value. */
function works(effect: MakeEffect) {
  return durable("works", async (ctx, input: { n: number }) => {
    const tokens = await ctx.stream("tokens", effect("tokens", ["a", { n: input.n }, "c"]));
    const flaky = await ctx.stream(
      "flaky",
      function* ({ attempt }) {
        yield attempt;
        if (attempt === 1) throw new Error("cut off");
      },
      { retry: { attempts: 9, delay: "1m", jitter: false } },
    );
    const many = await ctx.stream("many", manyChunks);
    const broken = await ctx
      .stream("broken", () => Promise.reject(new FatalError("no stream")))
      .catch((error: Error) => error.message);
    const charged = [
      await ctx.step("charge", effect("retried", 1), { onUncertain: "retry" }),
      ...(await ctx.parallel([
        (c) => c.step("charge", effect("asked", 2), { onUncertain: "suspend" }),
        (c) => c.step("charge", effect("found", 3), { onUncertain: () => ({ status: "retry" }) }),
      ])),
    ];
    const mapped = await ctx.map(["x", "y"], (c, name) => c.stream("says", () => [name]), {
      key: (name) => name,
    });
    await ctx.sleep("1h");
    const large = await ctx.step("large", effect("large", "many words ".repeat(2_000)));
    return { tokens, flaky: flaky.length, many: many.length, broken, charged, mapped, large };
  });
}

/** More than go into one entry, and a pause: there is an instant at which some are durable and some are not. */
async function* manyChunks(): AsyncGenerator<number> {
  for (let n = 0; n < 300; n++) {
    if (n === 256) for (let turns = 0; turns < 5; turns++) await new Promise<void>((go) => setImmediate(go));
    yield n;
  }
}

/** Children of children, one that fails, and one that loses a race. */
function family(effect: MakeEffect) {
  const pupil = durable("pupil", async (ctx, name: string) => {
    const done = await ctx.step("work", effect(`${name}/work`, `${name} works`));
    if (name === "lazy") throw new FatalError("nothing done");
    if (name === "slow" || name === "late") await ctx.sleep("1h");
    return [done, name === "shy" ? await ctx.suspend<string>("ask") : "not asked"];
  });
  const teacher = durable("teacher", (ctx, names: readonly string[]) =>
    ctx.map(names, (c, name) => c.child(pupil, name), { key: (name) => name }),
  );
  return durable("family", async (ctx, input: { n: number }) => {
    const taught = await ctx.child(teacher, ["slow", "shy"].slice(0, input.n));
    const lazy = await ctx.child(pupil, "lazy").catch((error: Error) => (error.cause as Error).message);
    const raced = await ctx.race({
      never: (c) => c.child(pupil, "late"),
      quick: (c) => c.step("quick", effect("quick", 1)),
    });
    return { taught, lazy, raced: raced.name };
  });
}

export const answers = {
  approve: { ok: true },
  credit: "yes",
  appraisal: "no",
  mailed: 42,
  ask: "the tides",
  uncertain: { status: "retry" },
};
