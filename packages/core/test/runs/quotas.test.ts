/** Quotas of cost, of keys, of streams, of calls inside of steps, and services that ask to be left alone. */

import { createApp, createWorker, durable, type App } from "@durable/core";
import { permitIn } from "@durable/core/storage";
import { expect, it } from "vitest";
import { lab, pause } from "../support/behaviour-lab.ts";

const prices = { m: { input: 1_000_000, output: 1_000_000 } };
const used = (inputTokens: number) => ({ model: "m", inputTokens, outputTokens: 0 });

it("a quota of cost reserves the estimate, and counts what a call has cost", async () => {
  const base = lab();
  const at: number[] = [];
  const flow = durable("ask", (ctx, cost: number) =>
    ctx.step(
      "model",
      ({ meter }) => {
        at.push(base.world.now());
        meter(used(cost));
      },
      { quota: "money", estimate: () => used(4) },
    ),
  );
  const app = createApp({
    ...base,
    prices,
    workflows: [flow],
    quotas: { money: { cost: 10, per: "1 minute" } },
  });
  const from = base.world.now();
  // The third would make 11 of 10 if it cost as much as was expected, and the second cost more than that.
  for (const cost of [1, 7, 1]) await base.world.run(app.run(flow, cost));
  expect(at.map((time) => Math.floor((time - from) / 60_000))).toEqual([0, 0, 1]);
});

it("a model without a price cannot be limited by its cost: the run is blocked, and says what to add", async () => {
  const base = lab();
  const flow = durable("ask", (ctx) =>
    ctx.step("model", () => 1, { quota: "money", estimate: { ...used(1), model: "other" } }),
  );
  const app = createApp({ ...base, prices, workflows: [flow], quotas: { money: { cost: 10 } } });
  const outcome = await base.world.run(app.run(flow));
  expect(outcome).toMatchObject({ status: "blocked", error: { code: "invalid-options" } });
  expect(outcome).toHaveProperty("error.message", expect.stringContaining('price of "other" is not known'));
});

it("runs with different keys have a quota each, and one that must wait until tomorrow is parked", async () => {
  const base = lab();
  const done: string[] = [];
  const flow = durable(
    "ask",
    async (ctx, tenant: string) => {
      for (const n of [1, 2])
        await ctx.step(
          `model ${n}`,
          ({ meter }) => {
            done.push(`${tenant} ${n}`);
            meter(used(6));
          },
          { quota: "tenant", estimate: used(6) },
        );
    },
    { tags: (tenant) => ({ tenant }) },
  );
  const quotas = {
    tenant: {
      cost: 10,
      per: "1 day" as const,
      key: ({ tags }: { tags: Record<string, string> }) => tags["tenant"],
    },
  };
  const app = createApp({ ...base, prices, workflows: [flow], quotas });
  const outcomes = await base.world.run(
    Promise.all(["a", "b"].map((tenant) => app.run(flow, tenant, { id: tenant }))),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(["suspended", "suspended"]);
  expect(done).toEqual(["a 1", "b 1"]);
  const worker = createWorker(app);
  const ended = Promise.all(["a", "b"].map((id) => app.get(id).result()));
  await base.world.run(ended);
  await base.world.run(worker.stop());
  expect(done.toSorted()).toEqual(["a 1", "a 2", "b 1", "b 2"]);
});

it("a service that has too many requests is left alone by all processes for as long as it asks", async () => {
  const base = lab();
  const calls: number[] = [];
  const flow = durable("ask", (ctx, refused: boolean) =>
    ctx.step(
      "model",
      ({ attempt }) => {
        calls.push(base.world.now());
        if (refused && attempt === 1)
          throw Object.assign(new Error("Too many requests."), {
            statusCode: 429,
            responseHeaders: { "retry-after": "20" },
          });
      },
      { quota: "openai", retry: { attempts: 2, delay: 1 } },
    ),
  );
  const made = (): App =>
    createApp({ ...base, bind: false, workflows: [flow], quotas: { openai: { requests: 1_000 } } });
  const [one, other] = [made(), made()] as const;
  const from = base.world.now();
  const first = one.run(flow, true);
  const second = pause(base.world, 1_000).then(() => other.run(flow, false));
  const outcomes = await base.world.run(Promise.all([first, second]));
  expect(outcomes.map(({ status }) => status)).toEqual(["completed", "completed"]);
  expect(calls).toHaveLength(3);
  expect(calls.map((time) => time - from >= 20_000)).toEqual([false, true, true]);
});

it("a stream takes from its quota", async () => {
  const base = lab();
  const at: number[] = [];
  const flow = durable("say", (ctx) =>
    ctx.stream(
      "words",
      async function* () {
        at.push(base.world.now());
        yield "word";
      },
      { quota: "openai" },
    ),
  );
  const app = createApp({ ...base, workflows: [flow], quotas: { openai: { requests: 1, per: "10s" } } });
  for (const _ of [1, 2]) await base.world.run(app.run(flow));
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(10_000);
});

it("a call inside of a step takes a permit, unless its step has one of the same quota", async () => {
  const base = lab();
  const quotas = {
    openai: { requests: 100, per: "1 hour" },
    search: { requests: 100, per: "1 hour" },
  } as const;
  const taken: (boolean | undefined)[] = [];
  const flow = durable("ask", (ctx) =>
    ctx.step(
      "tool",
      async (info) => {
        for (const quota of ["openai", "search", undefined]) {
          const permit = await permitIn(info, quota);
          taken.push(permit !== null);
          await permit?.settle(undefined);
        }
      },
      { quota: "openai" },
    ),
  );
  const app = createApp({ ...base, workflows: [flow], quotas });
  await base.world.run(app.run(flow));
  expect(taken).toEqual([false, true, false]);
});
