/** Turns of a rate: who keeps one, who gives it back, and what it is not taken for. */

import { createApp, durable, type App, type Storage, type Duration } from "@durable/core";
import type { StorageLimits } from "@durable/core/storage";
import { limitUse } from "@durable/core/inspect";
import { describe, expect, it } from "vitest";
import { hooked, kindsOf, lab, noticingLab, outputOf, type Lab } from "../support/behaviour-lab.ts";
import { open } from "../support/worker-lab.ts";
import { numbered } from "../support/worker-runs.ts";

const hour = 3_600_000;

interface Options {
  readonly max?: number;
  readonly per?: Duration;
  readonly key?: (input: unknown) => string;
}

/** A workflow under a rate that notes when its runs begin. `die` is called in the first step. */
function limited(base: Lab, { max = 1, per = "1 hour", key }: Options = {}, die = async () => {}) {
  const begun: { readonly id: string; readonly input: unknown; readonly at: number }[] = [];
  const flow = durable(
    "limited",
    async (ctx, input: unknown) => {
      await ctx.step("first", async () => {
        begun.push({ id: ctx.runId, input, at: base.world.now() });
        await die();
      });
      return input;
    },
    { retry: { attempts: 1 }, rate: { max, per, ...(key && { key }) } },
  );
  const app = createApp({ ...base, workflows: [flow], bind: false });
  return { flow, app, begun };
}

/** How many have begun by the rate. */
async function usedOf({ storage }: Lab): Promise<number> {
  const { windows = [] } = (await limitUse(storage)) ?? {};
  return windows.reduce((sum, { used }) => sum + used, 0);
}

async function queue(app: App, world: Lab["world"], ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await app.start("limited", id, { id, drive: false });
    await world.run(app.advance(id));
  }
}

describe("a run that has begun under a rate", () => {
  it("keeps its turn when its process dies in its first step", async () => {
    const base = lab();
    let isDead = false;
    const died = new Promise<void>(() => {});
    const dying: Storage = {
      ...hooked(base.storage, () => (isDead ? died : undefined)),
      limits: base.storage.limits as StorageLimits,
    };
    const first = limited({ ...base, storage: dying }, {}, () => {
      isDead = true;
      return died;
    });
    await first.app.start("limited", 1, { id: "r" });
    await base.world.advance(60_000);
    expect(first.begun).toHaveLength(1);
    const { app, begun } = limited(base);
    expect(await base.world.run(app.advance("r"))).toMatchObject({ status: "completed" });
    expect(begun).toHaveLength(1);
    expect(await usedOf(base)).toBe(1);
    expect(await kindsOf(app.get("r"))).toEqual([
      "run.started",
      "run.queued",
      "step.completed first",
      "run.completed",
    ]);
  });

  it("needs no further turn when it failed in its first step and is retried", async () => {
    const base = lab();
    const { app, begun } = limited(base, {}, async () => {
      if (begun.length === 1) throw new Error("once");
    });
    const run = await app.start("limited", 1, { id: "r" });
    await base.world.run(run.result().catch(() => {}));
    await run.retry({ drive: false });
    expect(await base.world.run(app.advance("r"))).toMatchObject({ status: "completed" });
    expect(await usedOf(base)).toBe(1);
  });

  it("takes the rate once, also if another process writes to it in that moment", async () => {
    const base = lab();
    const { flow, begun } = limited(base, { max: 1 });
    const other = createApp({ ...base, workflows: [flow], bind: false });
    const limits = base.storage.limits!;
    let sent = false;
    const storage = {
      ...hooked(base.storage, () => {}),
      limits: {
        ...limits,
        swap: async (...given: Parameters<typeof limits.swap>) => {
          const swapped = await limits.swap(...given);
          if (!sent) {
            sent = true;
            await other.get("r").pause();
            await other.get("r").unpause({ drive: false });
          }
          return swapped;
        },
      },
    };
    const app = createApp({ ...base, storage, workflows: [flow], bind: false });
    await app.start("limited", 1, { id: "r", drive: false });
    expect(await base.world.run(app.advance("r"))).toMatchObject({ status: "completed" });
    expect([sent, begun.length, await usedOf(base)]).toEqual([true, 1, 1]);
  });
});

describe("a run that is gone gives its turn back", () => {
  it.each(["cancel", "delete"] as const)("%s: the next run waits for no turn", async (verb) => {
    const base = lab();
    const { app, begun } = limited(base, { max: 1, per: "300ms" });
    const ids = numbered("r", 51);
    await queue(app, base.world, ids);
    for (const id of ids.slice(1)) await app[verb](id);
    await base.world.advance(400);
    await app.start("limited", "new", { id: "new", drive: false });
    expect(await base.world.run(app.advance("new"))).toMatchObject({ status: "completed" });
    expect(begun.map(({ id }) => id)).toEqual(["r-0", "new"]);
  });

  it("new runs get the turns that are free, and no run that waits comes later for it", async () => {
    const base = lab();
    const { app } = limited(base, { max: 1, per: "1 minute" });
    const ids = numbered("r", 21);
    await queue(app, base.world, ids);
    const turns = async (of: readonly string[]) =>
      Promise.all(
        of.map(async (id) => {
          const outcome = await app.get(id).outcome();
          return outcome.status === "suspended" ? (outcome.wakeAt ?? 0) : 0;
        }),
      );
    const before = await turns(ids.slice(1));
    for (const id of ids.slice(1, 11)) await app.get(id).cancel();
    const news = numbered("n", 11);
    await queue(app, base.world, news);
    const after = await turns(news);
    expect(after.slice(0, 10)).toEqual(before.slice(0, 10));
    expect(after[10]).toBeGreaterThan(before.at(-1) ?? 0);
    expect(await turns(ids.slice(11))).toEqual(before.slice(10));
  });

  it("a thousand of them leave a short text", async () => {
    const base = lab();
    const { app } = limited(base, { max: 10, per: "1 minute" });
    const ids = numbered("r", 1_010);
    await queue(app, base.world, ids);
    for (const [n, id] of ids.entries()) if (n >= 10 && n % 2 === 0) await app.get(id).cancel();
    const [text] = (await base.storage.limits?.texts("rate ")) ?? [];
    expect(text?.value.length).toBeLessThan(3_000);
    await app.start("limited", 1, { id: "new", drive: false });
    const outcome = await base.world.run(app.advance("new"));
    expect(outcome).toMatchObject({ status: "suspended" });
    const { wakeAt } = outcome as { wakeAt: number };
    expect(wakeAt - base.world.now()).toBeLessThan(5 * 60_000);
  });

  it("a debounced run that is moved to another key of the rate has no turn there", async () => {
    const base = lab();
    const { app, begun } = limited(base, { key: (input) => String(input).slice(0, 1) });
    const debounce = { key: "k", wait: "1s" } as const;
    await queue(app, base.world, ["a1", "b1", "b2"]);
    await app.start("limited", "a2", { id: "d", debounce, drive: false });
    await base.world.advance(2_000);
    expect(await base.world.run(app.advance("d"))).toMatchObject({ status: "suspended" });
    await app.start("limited", "b3", { debounce, drive: false });
    await base.world.advance(2_000);
    const outcome = (await base.world.run(app.advance("d"))) as { wakeAt: number };
    expect(outcome.wakeAt - base.world.now(), "after b2").toBeGreaterThan(1.9 * hour);
    await app.start("limited", "a3", { id: "a3", drive: false });
    const next = (await base.world.run(app.advance("a3"))) as { wakeAt: number };
    expect(next.wakeAt - base.world.now(), "the turn that d gave back").toBeLessThan(1.1 * hour);
    expect(begun.map(({ input }) => input)).toEqual(["a1", "b1"]);
  });
});

it("runs whose turns passed without a worker ask one after the other, before new ones", async () => {
  const base = noticingLab();
  const { flow, app, begun } = limited(base, { max: 10, per: "1 minute" });
  const old = numbered("old", 100);
  for (const id of old) await app.start("limited", id, { id, drive: false });
  await base.world.run(app.sweep({ limit: 1_000 }));
  await base.world.advance(2 * hour);
  const asked = { swaps: 0 };
  const { limits } = base.storage as { limits: StorageLimits };
  const swap = limits.swap.bind(limits);
  limits.swap = (...given) => {
    asked.swaps += 1;
    return swap(...given);
  };
  open(base, [flow], { concurrency: 20 });
  await base.world.advance(5_000);
  const fresh = numbered("new", 10);
  for (const id of fresh) await app.start("limited", id, { id, drive: false });
  await base.world.advance(15 * 60_000);
  expect(begun).toHaveLength(110);
  expect(new Set(begun.slice(-10).map(({ id }) => id)), "the new ones come last").toEqual(new Set(fresh));
  for (const [n, { at }] of begun.entries())
    expect((begun[n + 10]?.at ?? Infinity) - at).toBeGreaterThanOrEqual(60_000);
  expect(asked.swaps).toBeLessThan(4 * 110);
});

describe("a run that is not driven takes no rate", () => {
  it("when it is paused", async () => {
    const base = lab();
    const { app } = limited(base);
    await app.start("limited", 1, { id: "r", drive: false });
    await app.get("r").pause();
    for (let n = 0; n < 3; n++)
      expect(await base.world.run(app.advance("r"))).toMatchObject({ status: "paused" });
    expect(await usedOf(base)).toBe(0);
    await app.get("r").unpause({ drive: false });
    expect(await base.world.run(app.advance("r"))).toMatchObject({ status: "completed" });
  });

  it("when its workflow is paused; a debounced one is still moved", async () => {
    const base = lab();
    const { app, begun } = limited(base);
    const debounce = { key: "k", wait: "1s" } as const;
    await app.pause("limited");
    const run = await app.start("limited", 1, { debounce, drive: false });
    await base.world.advance(2_000);
    expect(await base.world.run(app.advance(run.id))).toMatchObject({ status: "paused" });
    expect(await usedOf(base)).toBe(0);
    const again = await app.start("limited", 2, { debounce, drive: false });
    expect(again.id).toBe(run.id);
    await app.unpause("limited");
    await base.world.advance(2_000);
    expect(outputOf(await base.world.run(app.advance(run.id)))).toBe(2);
    expect(begun.map(({ input }) => input)).toEqual([2]);
  });

  it("when a worker of another version finds it", async () => {
    const base = lab();
    const { app } = limited(base);
    await app.start("limited", 1, { id: "r", drive: false });
    const advanced = base.world.run(app.advance("r", { versions: ["7"] }));
    await expect(advanced).rejects.toMatchObject({ code: "other-version" });
    expect(await usedOf(base)).toBe(0);
  });

  it("when its deadline has passed: it fails, and no step of it begins", async () => {
    const base = lab();
    const { app, begun } = limited(base);
    await queue(app, base.world, ["a"]);
    await app.start("limited", 1, { id: "r", deadline: "30 minutes", drive: false });
    await base.world.run(app.advance("r"));
    await base.world.advance(2 * hour);
    expect(await base.world.run(app.advance("r"))).toMatchObject({
      status: "failed",
      error: { code: "deadline" },
    });
    expect(begun).toHaveLength(1);
    await app.start("limited", 1, { id: "s", drive: false });
    expect(await base.world.run(app.advance("s"))).toMatchObject({ status: "completed" });
  });
});
