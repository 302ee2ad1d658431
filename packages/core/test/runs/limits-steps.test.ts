import { limitUse } from "@durable/core/inspect";
import { createApp, createWorker, durable, type App, type Storage } from "@durable/core";
import type { StorageLimits } from "@durable/core/storage";
import { crashEverywhere } from "@durable/testing";
import { describe, expect, inject, it } from "vitest";
import { hooked, kindsOf, lab, pause, type Lab } from "../support/behaviour-lab.ts";
import { open } from "../support/worker-lab.ts";
import { numbered } from "../support/worker-runs.ts";

/** A provider that notes its calls, and how many are under way. */
function provider({ world }: Lab, ms = 100) {
  const calls: { readonly at: number; readonly tokens: number }[] = [];
  const seen = { now: 0, most: 0 };
  const call = async (tokens: number): Promise<number> => {
    calls.push({ at: world.now(), tokens });
    seen.most = Math.max(seen.most, ++seen.now);
    await pause(world, ms);
    seen.now -= 1;
    return tokens;
  };
  /** The most that was called within a minute. */
  const most = (of: (call: { readonly tokens: number }) => number): number =>
    Math.max(
      ...calls.map(({ at }) =>
        calls.filter((one) => one.at >= at && one.at < at + 60_000).reduce((sum, one) => sum + of(one), 0),
      ),
    );
  return { calls, seen, call, most };
}

describe("quotas of steps", () => {
  it("many runs in two processes do not trip the limits of a provider", async () => {
    const base = lab();
    const count = inject("full") ? 500 : 60;
    const { call, calls, seen, most } = provider(base);
    const flow = durable("ask", (ctx, n: number) =>
      ctx.step(
        "model",
        ({ meter }) => {
          meter({ model: "m", inputTokens: 100 + (n % 3), outputTokens: 100 });
          return call(200 + (n % 3));
        },
        { quota: { name: "openai", tokens: 200 } },
      ),
    );
    const quotas = { openai: { requests: 60, tokens: 10_000, per: "1 minute", concurrent: 8 } } as const;
    const [even, odd] = [1, 2].map(() => createApp({ ...base, workflows: [flow], quotas })) as [App, App];
    const ids = numbered("r", count);
    const from = base.world.now();
    const runs = await Promise.all(ids.map((id, n) => (n % 2 === 0 ? even : odd).start("ask", n, { id })));
    await base.world.run(Promise.all(runs.map((run) => run.result())));
    expect(calls).toHaveLength(count);
    expect(seen.most).toBeLessThanOrEqual(8);
    expect(most(() => 1)).toBeLessThanOrEqual(60);
    expect(most(({ tokens }) => tokens)).toBeLessThanOrEqual(10_000 * 1.02);
    // Calls of about 201 tokens at 10,000 a minute.
    expect(base.world.now() - from).toBeLessThan((count / 49 + 1) * 60_000);
  });

  it.each([
    ["a step under a limit", { quotas: { openai: { concurrent: 1 } } }, {}],
    ["a run with a rate", {}, { rate: { max: 5, per: "1 minute" as const } }],
  ])("%s asks again when the storage fails for a while", async (_, quotas, rate) => {
    const base = lab();
    const { storage } = base;
    const stored = storage.limits as StorageLimits;
    const from = base.world.now();
    const down = { until: from + 8_000 };
    const lost = { replies: 1 };
    const up = async <T>(ask: () => Promise<T>): Promise<T> => {
      if (base.world.now() < down.until) throw new Error("The connection was lost.");
      return ask();
    };
    const broken: StorageLimits = {
      ...stored,
      read: (name) => up(() => stored.read(name)),
      swap: async (...given) => {
        const swapped = await up(() => stored.swap(...given));
        if (lost.replies-- > 0) throw new Error("The reply was lost.");
        return swapped;
      },
    };
    const failing: Storage = { ...hooked(storage, () => {}), limits: broken };
    const { call, calls } = provider(base);
    const step = "quotas" in quotas ? { quota: "openai" } : {};
    const flow = durable("ask", (ctx) => ctx.step("model", () => call(1), step), rate);
    const bound = flow.with({ ...base, ...quotas, storage: failing });
    expect(await base.world.run(bound.run())).toMatchObject({ status: "completed", output: 1 });
    expect(calls).toHaveLength(1);
    expect(base.world.now() - from, "no place is taken by a lost reply").toBeLessThan(20_000);
    down.until = Infinity;
    const outcome = await base.world.run(bound.run().catch((error: unknown) => ({ error })));
    expect(outcome).toMatchObject({ error: { code: "storage-failed" } });
    expect(outcome).toHaveProperty("error.message", expect.stringContaining("The connection was lost."));
    expect(calls).toHaveLength(1);
  });

  it("a permit whose grant took longer than a lease is moved on before the call begins", async () => {
    const base = lab();
    const { call, calls, seen } = provider(base, 5_000);
    const flow = durable("ask", (ctx) => ctx.step("model", () => call(1), { quota: "openai" }));
    const stored = base.storage.limits as StorageLimits;
    let slow = true;
    const limits: StorageLimits = {
      ...stored,
      swap: async (...given) => {
        if (slow) await pause(base.world, 40_000);
        slow = false;
        return stored.swap(...given);
      },
    };
    const behind: Storage = { ...hooked(base.storage, () => {}), limits };
    const given = { ...base, quotas: { openai: { concurrent: 1 } } };
    const late = flow.with({ ...given, storage: behind }).run();
    const other = pause(base.world, 41_000).then(() => flow.with(given).run());
    await base.world.run(Promise.all([late, other]));
    expect(calls).toHaveLength(2);
    expect(seen.most).toBe(1);
  });

  it("a step that reserves more than a limit has runs alone, and what it used is counted", async () => {
    const base = lab();
    const { call, calls } = provider(base);
    const flow = durable("ask", (ctx, used: number) =>
      ctx.step(
        "model",
        ({ meter }) => {
          meter({ model: "m", inputTokens: used, outputTokens: 0 });
          return call(used);
        },
        { quota: { name: "openai", tokens: 1 } },
      ),
    );
    const bound = flow.with({ ...base, quotas: { openai: { tokens: 100, per: "1 minute" } } });
    const from = base.world.now();
    for (const used of [900, 10]) await base.world.run(bound.run(used));
    expect(calls.map(({ at }) => Math.floor((at - from) / 60_000))).toEqual([0, 1]);
    const greedy = durable("greedy", (ctx) =>
      ctx.step("model", () => call(0), { quota: { name: "openai", tokens: 1_000 } }),
    );
    const outcome = await base.world.run(
      greedy.with({ ...base, quotas: { openai: { tokens: 100, per: "1 minute" } } }).run(),
    );
    expect(outcome.status).toBe("completed");
  });

  it("a step that waits is no attempt, and nothing is recorded of it", async () => {
    const base = lab();
    const attempts: number[] = [];
    const flow = durable("ask", (ctx) =>
      ctx.step("model", ({ attempt }) => void attempts.push(attempt), { quota: "slow" }),
    );
    const app = createApp({ ...base, workflows: [flow], quotas: { slow: { requests: 1, per: "30s" } } });
    const runs = await Promise.all(["a", "b", "c"].map((id) => app.start("ask", undefined, { id })));
    await base.world.run(Promise.all(runs.map((run) => run.result())));
    expect(attempts).toEqual([1, 1, 1]);
    for (const run of runs)
      expect(await kindsOf(run)).toEqual(["run.started", "step.completed model", "run.completed"]);
  });

  it("each attempt counts, and a failed one settles what it used", async () => {
    const base = lab();
    const at: number[] = [];
    const flow = durable("ask", (ctx) =>
      ctx.step(
        "model",
        ({ attempt, meter }) => {
          at.push(base.world.now());
          meter({ model: "m", inputTokens: 10, outputTokens: 0 });
          if (attempt < 3) throw new Error("again");
        },
        { quota: "model", retry: { attempts: 3, delay: 1 } },
      ),
    );
    const quotas = { model: { requests: 1, tokens: 1_000, per: "10s" } } as const;
    await base.world.run(flow.with({ ...base, quotas }).run(undefined, { id: "r" }));
    expect(at).toHaveLength(3);
    expect((at[2] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(20_000);
    const [text] = (await base.storage.limits?.texts("quota ")) ?? [];
    expect(text?.name).toBe("quota model");
    expect(JSON.parse(text?.value ?? "[]")).toMatchObject([expect.any(String), {}, [10, 0], 0]);
  });

  it("a key that a tenant chooses is not the end of the name of another quota", async () => {
    const base = lab();
    const flow = durable("ask", async (ctx, quota: string) => {
      await ctx.step("model", () => {}, { quota });
    });
    const key = ({ tags }: { readonly tags: Readonly<Record<string, string>> }) => tags["tenant"] ?? "";
    const quotas = {
      model: { requests: 1, per: "1 day", key },
      "model gold": { requests: 1, per: "1 day" },
      "model gold bar": { requests: 1, per: "1 day" },
    } as const;
    const bound = flow.with({ ...base, quotas, patience: 0 });
    for (const tenant of ["gold", "gold bar", '","'])
      expect(await base.world.run(bound.run("model", { tags: { tenant } }))).toMatchObject({
        state: "completed",
      });
    for (const quota of ["model gold", "model gold bar"])
      expect(await base.world.run(bound.run(quota))).toMatchObject({ state: "completed" });
    const names = (await limitUse(base.storage))?.windows.map(({ name }) => name) ?? [];
    expect(names).toContain("model gold");
    expect(names).toHaveLength(5);
  });

  it("the permit of a process that died ends by its time", async () => {
    const base = lab();
    const quotas = { one: { concurrent: 1 } };
    const held = JSON.stringify([null, { dead: base.world.now() + 30_000 }, [0, 0], 0]);
    await base.storage.limits?.swap("quota one", null, held, 60_000);
    const from = base.world.now();
    const flow = durable("ask", (ctx) => ctx.step("model", () => base.world.now() - from, { quota: "one" }));
    const outcome = await base.world.run(flow.with({ ...base, quotas }).run());
    expect(outcome).toMatchObject({ status: "completed" });
    expect(base.world.now() - from).toBeGreaterThanOrEqual(30_000);
    expect(base.world.now() - from).toBeLessThan(31_000);
  });

  it("a long call keeps its permit", async () => {
    const base = lab();
    const { call, seen } = provider(base, 300_000);
    const flow = durable("ask", (ctx) => ctx.step("model", () => call(0), { quota: "one" }));
    const bound = flow.with({ ...base, quotas: { one: { concurrent: 1 } } });
    await base.world.run(Promise.all([bound.run(), bound.run(), bound.run()]));
    expect(seen.most).toBe(1);
  });

  it("a call that outlasts the time of a short limit keeps its place", async () => {
    const base = lab();
    const { call, calls, seen } = provider(base, 300_000);
    const flow = durable("ask", (ctx) => ctx.step("model", () => call(0), { quota: "one" }));
    const quotas = { one: { concurrent: 1, requests: 5, per: "100ms" } } as const;
    const [first, second] = [flow.with({ ...base, quotas }), flow.with({ ...base, quotas })];
    const runs = [first.run(), pause(base.world, 200_000).then(() => second.run())];
    await base.world.run(Promise.all(runs));
    expect([calls.length, seen.most]).toEqual([2, 1]);
  });

  it("the place of a call is free as soon as it ends, also if its renewal is on its way", async () => {
    const base = lab();
    const stored = base.storage.limits as StorageLimits;
    let swaps = 0;
    // The second is the renewal after 10 s: it is on its way when the call ends.
    const slow: StorageLimits = {
      ...stored,
      swap: async (...given) => {
        if (++swaps === 2) await pause(base.world, 3_000);
        return stored.swap(...given);
      },
    };
    const storage: Storage = { ...hooked(base.storage, () => {}), limits: slow };
    const { call, calls } = provider(base, 10_500);
    const flow = durable("ask", (ctx) => ctx.step("model", () => call(0), { quota: "one" }));
    const quotas = { one: { concurrent: 1 } };
    const from = base.world.now();
    await base.world.run(flow.with({ ...base, storage, quotas }).run());
    await base.world.advance(5_000);
    expect(swaps).toBeGreaterThanOrEqual(3);
    await base.world.run(flow.with({ ...base, quotas }).run());
    expect((calls[1]?.at ?? 0) - from, "and not after the time of a lease").toBeLessThan(20_000);
  });

  it("a permit that a step does not need any more is free at once", async () => {
    const base = lab();
    const stored = base.storage.limits as StorageLimits;
    const slow: StorageLimits = {
      ...stored,
      swap: async (...given) => {
        const swapped = await stored.swap(...given);
        await pause(base.world, 1_000);
        return swapped;
      },
    };
    const storage: Storage = { ...hooked(base.storage, () => {}), limits: slow };
    const { call, calls } = provider(base);
    const flow = durable("ask", (ctx) => ctx.step("model", () => call(0), { quota: "one" }));
    const quotas = { one: { concurrent: 1, requests: 1, per: "1 hour" } } as const;
    const app = createApp({ ...base, storage, quotas, workflows: [flow] });
    const run = await app.start("ask", undefined, { id: "r" });
    await base.world.advance(500);
    await run.cancel();
    await base.world.advance(5_000);
    expect(calls).toHaveLength(0);
    const from = base.world.now();
    await base.world.run(flow.with({ ...base, quotas }).run());
    expect(base.world.now() - from).toBeLessThan(5_000);
  });

  it("a call that goes on while its worker is stopped keeps its place", async () => {
    const base = lab();
    const { call, calls, seen } = provider(base, 120_000);
    const flow = durable("ask", (ctx) => ctx.step("model", () => call(0), { quota: "one" }));
    const quotas = { one: { concurrent: 1 } };
    const app = createApp({ ...base, workflows: [flow], quotas });
    await app.start("ask", undefined, { id: "a", drive: false });
    const worker = createWorker(app);
    await base.world.advance(5_000);
    const stopped = worker.stop();
    const other = flow.with({ ...base, quotas }).run();
    await base.world.run(Promise.all([stopped, other]));
    expect([calls.length, seen.most]).toEqual([2, 1]);
  });

  it("tokens hold within every minute, also after calls that reserved too much", async () => {
    const base = lab();
    const { call, most } = provider(base, 55_000);
    const flow = durable("ask", (ctx, used: number) =>
      ctx.step(
        "model",
        ({ meter }) => {
          meter({ model: "m", inputTokens: used, outputTokens: 0 });
          return call(used);
        },
        { quota: { name: "openai", tokens: 1_000 } },
      ),
    );
    const quotas = { openai: { tokens: 10_000, per: "1 minute" } } as const;
    const app = createApp({ ...base, workflows: [flow], quotas });
    // Two minutes of calls that use a tenth of what they reserve, then calls that use all of it.
    const runs = await Promise.all(
      numbered("r", 250).map((id, n) => app.start("ask", n < 150 ? 100 : 1_000, { id })),
    );
    await base.world.run(Promise.all(runs.map((run) => run.result())));
    expect(most(({ tokens }) => tokens)).toBeLessThanOrEqual(10_000);
  });

  it("a worker that is stopped leaves a step that waits to the next", async () => {
    const base = lab();
    const { call, calls } = provider(base);
    const flow = durable("ask", (ctx) => ctx.step("model", () => call(0), { quota: "one" }));
    const quotas = { one: { requests: 1, per: "4 minutes" } } as const;
    const app = createApp({ ...base, workflows: [flow], quotas });
    for (const id of ["a", "b"]) await app.start("ask", undefined, { id, drive: false });
    const worker = createWorker(app);
    await base.world.advance(60_000);
    expect(calls).toHaveLength(1);
    await base.world.run(worker.stop());
    const { runs } = await base.storage.list({ dueAt: base.world.now() });
    expect(runs).toHaveLength(1);
    open(base, [flow]);
  });

  it("blocks a run whose limit is not declared, and says where", async () => {
    const base = lab();
    const flow = durable("ask", (ctx) => ctx.step("model", () => 1, { quota: "opena" }));
    const bound = flow.with({ ...base, quotas: { openai: { requests: 1 } } });
    expect(await base.world.run(bound.run(undefined, { id: "r" }))).toMatchObject({
      status: "blocked",
      error: {
        code: "invalid-options",
        message: expect.stringMatching(/step "model" of run r .*"opena".*createApp\({ quotas }\).*"openai"/),
      },
    });
  });
});

it("crash everywhere: steps under a limit run to their end, and a permit of a dead process is free again", async () => {
  const flow = durable("ask", async (ctx) => [
    await ctx.step("one", () => 1, { quota: "one" }),
    ...(await ctx.parallel([2, 3].map((n) => (c) => c.step("more", () => n, { quota: "one" })))),
  ]);
  const quotas = { one: { concurrent: 1, requests: 2, per: "10s" } } as const;
  expect(await crashEverywhere(flow, { quotas })).toMatchObject({ ok: true });
});
