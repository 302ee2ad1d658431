/** Limits that hold across processes: of runs, of their rate, and of the services that steps call. */

import { durable, type App, type Context } from "@durable/core";
import { fleetOf } from "@durable/core/inspect";
import { expect } from "vitest";
import type { Feature } from "./feature.ts";
import { cannotLimit, refuses, type FeatureLab } from "./lab.ts";

/** Work that takes a second, and notes how many of a key are under way. */
function counted(lab: FeatureLab) {
  const now = new Map<string, number>();
  const most = new Map<string, number>();
  const at: number[] = [];
  const work = async (key: string): Promise<string> => {
    at.push(lab.world.now());
    now.set(key, (now.get(key) ?? 0) + 1);
    most.set(key, Math.max(most.get(key) ?? 0, now.get(key) ?? 0));
    await lab.pause(1_000);
    now.set(key, (now.get(key) ?? 0) - 1);
    return key;
  };
  return { work, most, at };
}

/** Starts runs, one per input, for workers. */
async function record(lab: FeatureLab, app: App, inputs: readonly unknown[]): Promise<void> {
  for (const [n, input] of inputs.entries())
    await lab.run(app.start("job", input, { id: `r${n}`, drive: false }));
}

async function completed(lab: FeatureLab, app: App, count: number): Promise<void> {
  await lab.until(
    `${count} runs have completed`,
    async () => (await lab.statuses(app))["completed"] === count,
  );
}

/** No more than `most` within a minute. The second is for storages that answer while time passes. */
function expectRate(at: readonly number[], most: number): void {
  for (const [n, time] of at.entries())
    expect((at[n + most] ?? Infinity) - time, "the next after a full minute").toBeGreaterThan(59_000);
}

export const concurrency: Feature = {
  name: "Concurrency by key",
  page: "guides/operate/limits.md",
  needs: "limits",
  programs: {
    "runs of one key take turns, over two processes": async (lab) => {
      const { work, most } = counted(lab);
      const job = durable("job", (ctx, key: string) => ctx.step("work", () => work(key)), {
        concurrency: { max: 1, key: (input) => input },
      });
      const apps = [lab.app([job]), lab.app([job], { storage: await lab.another() })] as const;
      await record(lab, apps[0], ["a", "b", "a", "b", "a", "b"]);
      for (const app of apps) lab.worker(app);
      await completed(lab, apps[0], 6);
      expect(Object.fromEntries(most)).toEqual({ a: 1, b: 1 });
    },
    "a run that waits for an answer has no place": async (lab) => {
      const job = durable("job", (ctx, _input: unknown) => ctx.suspend("go"), { concurrency: { max: 1 } });
      const app = lab.app([job]);
      await record(lab, app, [1, 2, 3]);
      lab.worker(app);
      await lab.until("all wait", async () => (await lab.statuses(app))["suspended"] === 3);
    },
  },
  without: (lab) =>
    refuses(() => lab.app([durable("job", () => 1, { concurrency: { max: 1 } })]), cannotLimit),
};

export const fairShares: Feature = {
  name: "Fair shares",
  page: "guides/operate/limits.md",
  needs: "limits",
  programs: {
    "a small tenant does not wait for a large one, and a weight gives longer turns": async (lab) => {
      const { work, at } = counted(lab);
      const begun: string[] = [];
      const job = durable(
        "job",
        (ctx, key: string) =>
          ctx.step("work", () => {
            begun.push(key);
            return work(key);
          }),
        { fair: { key: (input) => input, weight: (input) => (input === "large" ? 2 : 1) } },
      );
      const app = lab.app([job]);
      await record(lab, app, [...Array.from({ length: 6 }, () => "large"), "small", "small"]);
      lab.worker(app, { concurrency: 1 });
      await completed(lab, app, 8);
      expect(at).toHaveLength(8);
      expect(begun).toEqual(["large", "large", "small", "large", "large", "small", "large", "large"]);
    },
    "a tenant that is alone gets all places": async (lab) => {
      const { work, most } = counted(lab);
      const job = durable("job", (ctx, key: string) => ctx.step("work", () => work(key)), {
        fair: (input) => input,
      });
      const app = lab.app([job]);
      await record(lab, app, ["large", "large", "large", "large"]);
      lab.worker(app, { concurrency: 4 });
      await completed(lab, app, 4);
      expect(most.get("large")).toBe(4);
    },
  },
  without: (lab) => refuses(() => lab.app([durable("job", () => 1, { fair: () => "a" })]), cannotLimit),
};

export const rates: Feature = {
  name: "Rates",
  page: "guides/operate/limits.md",
  needs: "limits",
  programs: {
    "no more runs than the rate begin within its time": async (lab) => {
      const { work, at } = counted(lab);
      const job = durable("job", (ctx, key: string) => ctx.step("work", () => work(key)), {
        rate: { max: 2, per: "1 minute" },
      });
      const app = lab.app([job]);
      await record(lab, app, ["a", "b", "c", "d", "e"]);
      lab.worker(app);
      await completed(lab, app, 5);
      expect(at).toHaveLength(5);
      expectRate(at, 2);
    },
  },
  without: (lab) =>
    refuses(() => lab.app([durable("job", () => 1, { rate: { max: 1, per: "1s" } })]), cannotLimit),
};

export const stepLimits: Feature = {
  name: "Quotas of steps",
  page: "guides/operate/provider-limits.md",
  needs: "limits",
  programs: {
    "steps make no more calls than the limit has": async (lab) => {
      const { work, at } = counted(lab);
      const job = durable("job", (ctx, key: string) => ctx.step("work", () => work(key), { quota: "api" }));
      const app = lab.app([job], { quotas: { api: { requests: 2, per: "1 minute" } } });
      await record(lab, app, ["a", "b", "c", "d", "e"]);
      lab.worker(app);
      await completed(lab, app, 5);
      expectRate(at, 2);
    },
    "steps use no more tokens than the limit has": async (lab) => {
      const { work, at } = counted(lab);
      const job = durable("job", (ctx, key: string) =>
        ctx.step(
          "work",
          ({ meter }) => {
            meter({ model: "m", inputTokens: 40, outputTokens: 20 });
            return work(key);
          },
          { quota: { name: "api", tokens: 60 } },
        ),
      );
      const app = lab.app([job], { quotas: { api: { tokens: 100, per: "1 minute" } } });
      await record(lab, app, ["a", "b", "c"]);
      lab.worker(app);
      await completed(lab, app, 3);
      expectRate(at, 1);
    },
    "no more calls than `concurrent` are under way, over two processes": async (lab) => {
      const { work, most } = counted(lab);
      const job = durable("job", (ctx, _input: unknown) =>
        ctx.step("work", () => work("all"), { quota: "api" }),
      );
      const quotas = { api: { concurrent: 1 } };
      const apps = [
        lab.app([job], { quotas }),
        lab.app([job], { quotas, storage: await lab.another() }),
      ] as const;
      await record(lab, apps[0], [1, 2, 3, 4]);
      for (const app of apps) lab.worker(app);
      await completed(lab, apps[0], 4);
      expect(most.get("all")).toBe(1);
    },
  },
  without: (lab) => refuses(() => lab.app([], { quotas: { api: { requests: 1 } } }), cannotLimit),
};

const prices = { m: { input: 1_000_000, output: 1_000_000 } };

/** Work that costs 2, five times. */
function spender(paid: string[]) {
  return async (ctx: Context, name: string): Promise<void> => {
    for (let n = 1; n <= 5; n++)
      await ctx.step(`item ${n}`, ({ meter }) => {
        paid.push(`${name} ${n}`);
        meter({ model: "m", inputTokens: 2, outputTokens: 0 });
      });
  };
}

/** Raises the limit of the run that asks. */
async function raise(lab: FeatureLab, app: App, id: string): Promise<void> {
  const outcome = await lab.run(app.get(id).outcome());
  const [wait] = outcome.status === "suspended" ? outcome.waiting : [];
  expect(wait?.key).toBe("budget/limit");
  await lab.run(app.resume(wait?.token ?? "", { more: 100 }));
}

export const budgets: Feature = {
  name: "Budgets",
  page: "guides/operate/budgets.md",
  programs: {
    "a run asks at its limit, and goes on in another process": async (lab) => {
      const paid: string[] = [];
      const buy = spender(paid);
      const job = durable("job", (ctx, name: string) => buy(ctx, name), { budget: 5 });
      const app = lab.app([job], { prices });
      await lab.run(app.run(job, "a", { id: "a" }));
      expect(paid).toHaveLength(3);
      const other = lab.app([job], { prices, storage: await lab.another() });
      await raise(lab, other, "a");
      expect(await lab.run(other.get("a").outcome())).toMatchObject({ status: "completed" });
      expect(paid).toHaveLength(5);
    },
  },
};

export const treeBudgets: Feature = {
  name: "Budgets of trees",
  page: "guides/operate/budgets.md",
  needs: "limits",
  programs: {
    "children spend from the budget of the run above them": async (lab) => {
      const paid: string[] = [];
      const buy = spender(paid);
      const inner = durable("inner", (ctx, name: string) => buy(ctx, name));
      const job = durable(
        "job",
        async (ctx, names: readonly string[]) => {
          for (const name of names) await ctx.child(inner, name);
        },
        { budget: { most: 12, tree: true } },
      );
      const app = lab.app([job, inner], { prices });
      await lab.run(app.run(job, ["a", "b"], { id: "a" }));
      expect(paid).toEqual(["a 1", "a 2", "a 3", "a 4", "a 5", "b 1"]);
      const asking = (await lab.list(app, { workflow: "inner" })).find(({ waits }) => waits !== undefined);
      await raise(lab, app, asking?.runId ?? "");
      lab.worker(app);
      await lab.until("the run has completed", async () => (await lab.statuses(app))["completed"] === 3);
      expect(paid).toHaveLength(10);
    },
  },
  without: (lab) =>
    refuses(() => lab.app([durable("job", () => 1, { budget: { most: 1, tree: true } })]), cannotLimit),
};

export const namedWorkers: Feature = {
  name: "Named workers",
  page: "guides/operate/workers.md",
  needs: "limits",
  otherwise: "not listed",
  programs: {
    "a worker with a name is listed by every process, until it stops": async (lab) => {
      const app = lab.app([durable("job", () => 1)]);
      const other = lab.app([], { storage: await lab.another() });
      const names = async (): Promise<string[]> =>
        ((await lab.run(fleetOf(other))).workers ?? []).map(({ name }) => name);
      const worker = lab.worker(app, { name: "north" });
      await lab.until("it is listed", async () => (await names()).join() === "north");
      await lab.run(worker.stop());
      await lab.until("it is no longer listed", async () => (await names()).length === 0);
    },
  },
  without: async (lab) => {
    const app = lab.app([durable("job", () => 1)]);
    lab.worker(app, { name: "north" });
    await lab.pass(60_000);
    expect((await lab.run(fleetOf(app))).workers).toBeNull();
  },
};
