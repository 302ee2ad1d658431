/** Budgets: what a run, a branch and a tree of runs may spend, and what happens at the limit. */

import { createApp, durable, durableBudget, type AnyWorkflow, type App, type Context } from "@durable/core";
import type { BudgetEvent } from "@durable/core/hooks";
import { describe, expect, it } from "vitest";
import { hooked, lab, type Lab } from "../support/behaviour-lab.ts";

const prices = { m: { input: 1_000_000, output: 1_000_000 } };
const used = (inputTokens: number, model = "m") => ({ model, inputTokens, outputTokens: 0 });

/** Work that costs so much, and notes that it was done. */
function shop() {
  const paid: string[] = [];
  const buy = (ctx: Context, name: string, cost = 1, estimate: number | null = cost): Promise<string> =>
    ctx.step(
      name,
      ({ meter }) => {
        paid.push(name);
        meter(used(cost));
        return name;
      },
      estimate === null ? {} : { estimate: () => used(estimate) },
    );
  return { paid, buy };
}

function appOf(base: Lab, ...workflows: AnyWorkflow[]) {
  return createApp({ ...base, prices, bind: false, workflows });
}

/** The only open question of a run. */
async function asked(app: App, id: string) {
  const outcome = await app.get(id).outcome();
  if (outcome.status !== "suspended") throw new Error(`${id} is ${outcome.status}`);
  const [wait] = outcome.waiting;
  if (wait === undefined) throw new Error(`${id} asks nothing`);
  return wait;
}

describe("the budget of a run", () => {
  it("asks a person before a call that would pass it, goes on when it is raised, and repeats nothing", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const flow = durable(
      "buy",
      async (ctx) => {
        const got: string[] = [];
        for (let n = 1; n <= 5; n++) got.push(await buy(ctx, `item ${n}`, 2));
        return got.length;
      },
      { budget: 5 },
    );
    const app = appOf(base, flow);
    expect(await base.world.run(app.run(flow, undefined, { id: "r" }))).toMatchObject({
      status: "suspended",
    });
    expect(paid).toEqual(["item 1", "item 2"]);
    const wait = await asked(app, "r");
    expect(wait).toMatchObject({
      key: "budget/limit",
      note: {
        spent: 4,
        most: 5,
        next: 2,
        by: [{ label: "item 1", model: "m", cost: 2 }, { label: "item 2" }],
      },
    });
    expect(wait.note).toHaveProperty("question", expect.stringContaining("spent 4 of its budget of 5"));
    // Another process gets the answers.
    const other = appOf(base, flow);
    expect(await base.world.run(other.resume(wait.token, { more: "lots" }))).toMatchObject({
      status: "invalid",
    });
    await base.world.run(other.resume(wait.token, { more: 3 }));
    expect(paid).toHaveLength(4);
    const again = await asked(other, "r");
    expect(again).toMatchObject({ key: "budget/limit#2", note: { spent: 8, most: 8 } });
    await base.world.run(appOf(base, flow).resume(again.token, { more: 10 }));
    expect(await other.get("r").outcome()).toMatchObject({ status: "completed", output: 5 });
    expect(paid).toHaveLength(5);
    expect(await base.world.run(appOf(base, flow).advance("r"))).toMatchObject({ status: "completed" });
    expect(paid, "a replay spends nothing").toHaveLength(5);
  });

  it.each(["fail", "suspend"] as const)(
    "ends with a typed error that names the sums (%s)",
    async (onLimit) => {
      const base = lab();
      const { paid, buy } = shop();
      const flow = durable(
        "buy",
        async (ctx) => {
          for (let n = 1; n <= 3; n++) await buy(ctx, `item ${n}`, 2).catch(() => "no agent hides it");
        },
        { budget: { most: 3, onLimit } },
      );
      const app = appOf(base, flow);
      await base.world.run(app.run(flow, undefined, { id: "r" }));
      if (onLimit === "suspend") await base.world.run(app.resume((await asked(app, "r")).token, { more: 0 }));
      expect(await app.get("r").outcome()).toMatchObject({
        status: "failed",
        error: { code: "over-budget", details: { spent: 2, most: 3, next: 2, by: [{ cost: 2 }] } },
      });
      expect(paid).toEqual(["item 1"]);
      // The call that was not let through is none that the code forgot.
      expect(base.world.warnings.filter((text) => text.includes("without waiting"))).toEqual([]);
      // With more to spend, it goes on where it was.
      const richer = appOf(base, flow.with({ budget: 100 }));
      await base.world.run(richer.get("r").retry());
      await base.world.run(richer.get("r").result());
      expect(paid).toEqual(["item 1", "item 2", "item 3"]);
    },
  );

  it("a function raises the limit, or ends the run", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const seen: number[] = [];
    const onLimit = ({ most }: { most: number }): number | false => {
      seen.push(most);
      return most < 6 ? most + 2 : false;
    };
    const flow = durable("buy", async (ctx) => {
      durableBudget(ctx, { most: 2, onLimit });
      for (let n = 1; n <= 9; n++) await buy(ctx, `item ${n}`, 2);
    });
    expect(await base.world.run(appOf(base, flow).run(flow))).toMatchObject({
      status: "failed",
      error: { code: "over-budget" },
    });
    expect(paid).toHaveLength(3);
    expect(seen).toEqual([2, 4, 6]);
  });

  it("branches at the limit share one question, and calls under way are those that pass it", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const flow = durable(
      "buy",
      (ctx) =>
        ctx.map(
          Array.from({ length: 10 }, (_, n) => n),
          async (branch, n) => {
            for (const part of ["a", "b", "c"]) await buy(branch, `${part}${n}`, 1);
          },
          { concurrency: 4 },
        ),
      { budget: 10 },
    );
    const app = appOf(base, flow);
    await base.world.run(app.run(flow, undefined, { id: "r" }));
    expect(paid.length).toBeGreaterThanOrEqual(10);
    expect(paid.length).toBeLessThanOrEqual(10 + 4);
    const outcome = await app.get("r").outcome();
    expect(outcome).toMatchObject({ status: "suspended", waiting: [{ key: "budget/limit" }] });
    expect(outcome.status === "suspended" && outcome.waiting).toHaveLength(1);
    await base.world.run(appOf(base, flow).resume((await asked(app, "r")).token, { more: 100 }));
    expect(await app.get("r").outcome()).toMatchObject({ status: "completed" });
    expect(paid).toHaveLength(30);
    expect(new Set(paid).size).toBe(30);
  });

  it("a question stays open, with its token, while cheaper calls still fit", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const flow = durable(
      "buy",
      (ctx) =>
        ctx.parallel({
          dear: (branch) => buy(branch, "dear", 10),
          cheap: async (branch) => {
            for (const n of [1, 2, 3]) await buy(branch, `cheap ${n}`, 1);
          },
        }),
      { budget: 8 },
    );
    const app = appOf(base, flow);
    await base.world.run(app.run(flow, undefined, { id: "r" }));
    expect(paid).toHaveLength(3);
    const entries = await app.get("r").entries();
    expect(entries.filter(({ kind }) => kind.startsWith("suspend.")).map(({ kind }) => kind)).toEqual([
      "suspend.opened",
    ]);
    await base.world.run(appOf(base, flow).resume((await asked(app, "r")).token, { more: 5 }));
    expect(await app.get("r").outcome()).toMatchObject({ status: "completed" });
    expect(paid).toHaveLength(4);
  });

  it("a branch has a budget of its own, and may handle that it is used up", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const flow = durable("buy", (ctx) =>
      ctx.parallel({
        poor: async (branch) => {
          durableBudget(branch, { most: 2, onLimit: "fail" });
          try {
            for (let n = 1; n <= 3; n++) await buy(branch, `poor ${n}`, 1);
            return "all";
          } catch (error) {
            return (error as { cause: { code: string } }).cause.code;
          }
        },
        rich: async (branch) => {
          for (let n = 1; n <= 5; n++) await buy(branch, `rich ${n}`, 1);
          return "all";
        },
      }),
    );
    const app = appOf(base, flow);
    expect(await base.world.run(app.run(flow, undefined, { id: "r" }))).toMatchObject({
      status: "completed",
      output: { poor: "over-budget", rich: "all" },
    });
    expect(paid).toHaveLength(7);
  });

  it("a fork begins with nothing spent, and without what was added for its parent", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const flow = durable(
      "buy",
      async (ctx) => {
        for (let n = 1; n <= 4; n++) await buy(ctx, `item ${n}`, 1);
      },
      { budget: 2 },
    );
    const app = appOf(base, flow);
    await base.world.run(app.run(flow, undefined, { id: "r" }));
    await base.world.run(app.resume((await asked(app, "r")).token, { more: 5 }));
    expect(paid).toHaveLength(4);
    await base.world.run(app.fork(flow, "r", { from: "item 2", id: "f" }));
    await base.world.run(app.advance("f"));
    expect(paid.slice(4)).toEqual(["item 2", "item 3"]);
    expect((await asked(app, "f")).note).toMatchObject({ spent: 2, most: 2 });
  });

  it("a call whose usage is not known counts as it was estimated, in every life", async () => {
    const base = lab();
    const done: string[] = [];
    const flow = durable(
      "buy",
      async (ctx) => {
        for (let n = 1; n <= 3; n++)
          await ctx.step(`item ${n}`, () => void done.push(`item ${n}`), { estimate: used(2) });
      },
      { budget: 5 },
    );
    await base.world.run(appOf(base, flow).run(flow, undefined, { id: "r" }));
    expect(done).toHaveLength(2);
    const app = appOf(base, flow);
    expect((await asked(app, "r")).note).toMatchObject({ spent: 4 });
    await base.world.run(app.resume((await asked(app, "r")).token, { more: 1 }));
    expect(done).toHaveLength(3);
  });

  it("work that costs nothing is not stopped, if its step says so, and neither is the undoing of a run", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const flow = durable(
      "buy",
      async (ctx) => {
        await ctx.step("order", () => void paid.push("order"), {
          compensate: () => void paid.push("undone"),
        });
        await buy(ctx, "item", 9, null);
        await ctx.step("save", () => void paid.push("save"), { budget: false });
        await ctx.step("send", () => void paid.push("send"));
      },
      { budget: { most: 5, onLimit: "fail" } },
    );
    expect(await base.world.run(appOf(base, flow).run(flow))).toMatchObject({ status: "failed" });
    expect(paid).toEqual(["order", "item", "save", "undone"]);
  });

  it("a chapter goes on with what was spent and added before", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const flow = durable(
      "buy",
      async (ctx, chapter: number) => {
        for (const part of ["a", "b"]) await buy(ctx, `${chapter}${part}`, 1);
        if (chapter < 3) return ctx.continueAs(chapter + 1);
        return "done";
      },
      { budget: 3 },
    );
    const app = appOf(base, flow);
    await base.world.run(app.run(flow, 1, { id: "r" }));
    expect(paid).toEqual(["1a", "1b", "2a"]);
    await base.world.run(app.resume((await asked(app, "r")).token, { more: 2 }));
    expect(paid).toEqual(["1a", "1b", "2a", "2b", "3a"]);
    expect((await asked(app, "r")).note).toMatchObject({ spent: 5, most: 5 });
  });

  it("what is added to one of two budgets is not added to the other, in later chapters either", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const flow = durable("buy", async (ctx, chapter: number) => {
      durableBudget(ctx, { most: 3 });
      durableBudget(ctx, { most: 5, onLimit: "fail" });
      for (const part of ["a", "b"]) await buy(ctx, `${chapter}${part}`, 1);
      return chapter < 4 ? ctx.continueAs(chapter + 1) : "done";
    });
    const app = appOf(base, flow);
    await base.world.run(app.run(flow, 1, { id: "r" }));
    await base.world.run(app.resume((await asked(app, "r")).token, { more: 9 }));
    expect(paid).toEqual(["1a", "1b", "2a", "2b", "3a"]);
    expect(await app.get("r").outcome()).toMatchObject({
      status: "failed",
      error: { details: { spent: 5, most: 5 } },
    });
  });

  it("says nothing of what the next call costs where nothing is known of it", async () => {
    const base = lab();
    const { buy } = shop();
    const flow = durable(
      "buy",
      async (ctx) => void (await buy(ctx, "a", 2, null), await buy(ctx, "b", 2, null)),
      {
        budget: { most: 1, onLimit: "fail" },
      },
    );
    const app = appOf(base, flow);
    await base.world.run(app.run(flow, undefined, { id: "r" }));
    expect(await app.get("r").outcome()).toMatchObject({
      error: {
        message: "Run r has spent 2 of its budget of 1: 2 for a (m). Raise the budget, and retry the run.",
      },
    });
  });

  it("equal options are the same budget, so that one answer is enough", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const flow = durable("buy", async (ctx) => {
      for (const part of ["a", "b", "c", "d"]) {
        durableBudget(ctx, { most: 2 });
        await buy(ctx, part, 1);
      }
    });
    const app = appOf(base, flow);
    await base.world.run(app.run(flow, undefined, { id: "r" }));
    expect(paid).toEqual(["a", "b"]);
    await base.world.run(app.resume((await asked(app, "r")).token, { more: 5 }));
    expect(paid).toEqual(["a", "b", "c", "d"]);
    expect(await app.get("r").outcome()).toMatchObject({ status: "completed" });
  });

  it("warns before it asks: the hook, a line, and the report of a run that has none", async () => {
    const base = lab();
    const events: BudgetEvent[] = [];
    const lines: string[] = [];
    const { buy } = shop();
    const flow = durable(
      "buy",
      async (ctx) => {
        for (let n = 1; n <= 9; n++) await buy(ctx, `item ${n}`, 1);
      },
      { budget: { most: 5, warnAt: 3 } },
    );
    const logger = { debug() {}, info() {}, warn: (line: string) => void lines.push(line), error() {} };
    const hooks = { onBudget: (event: BudgetEvent) => void events.push(event) };
    const app = createApp({ ...base, prices, bind: false, workflows: [flow], hooks, logger });
    const outcome = await base.world.run(app.run(flow, undefined, { id: "r" }));
    expect(events).toMatchObject([{ runId: "r", workflow: "buy", spent: 3, most: 5 }]);
    expect(lines.filter((line) => line.includes("nearly used up: 3 of 5"))).toHaveLength(1);
    expect(outcome).toMatchObject({ status: "suspended", report: { budget: { spent: 3, most: 5 } } });
  });

  it("a model without a price blocks the run, and says what to add", async () => {
    const base = lab();
    const flow = durable(
      "buy",
      async (ctx) => {
        await ctx.step("one", ({ meter }) => meter(used(1, "new")));
        await ctx.step("two", () => 1);
      },
      { budget: 5 },
    );
    expect(await base.world.run(appOf(base, flow).run(flow))).toMatchObject({
      status: "blocked",
      error: { code: "invalid-options", message: expect.stringContaining('price of "new"') as string },
    });
  });

  it("refuses what is no budget", () => {
    const body = async (): Promise<void> => {};
    for (const budget of [-1, Number.NaN, { most: 1, onLimit: "never" }, { most: 1, much: 2 }])
      expect(() => durable("buy", body, { budget: budget as never })).toThrow(/budget/);
  });
});

describe("the budget of a tree", () => {
  const setUp = (base: Lab, most: number) => {
    const { paid, buy } = shop();
    const leaf = durable("leaf", async (ctx, name: string) => {
      for (const part of ["a", "b", "c"]) await buy(ctx, `${name}${part}`, 1);
    });
    const inner = durable("inner", (ctx, name: string) => ctx.child(leaf, `${name}-`));
    const root = durable(
      "root",
      async (ctx) => {
        await buy(ctx, "first", 1);
        await ctx.map(["x", "y"], (branch, name) => branch.child(inner, name));
      },
      { budget: { most, tree: true } },
    );
    const made = () => appOf(base, root, inner, leaf);
    return { paid, root, made };
  };

  it("all runs below spend from it, and an answer to one makes room for the others", async () => {
    const base = lab();
    const { paid, root, made } = setUp(base, 3);
    const app = made();
    await base.world.run(app.run(root, undefined, { id: "r" }));
    expect(paid.length).toBeGreaterThanOrEqual(3);
    expect(paid.length).toBeLessThanOrEqual(3 + 2);
    const { runs } = await app.list({ workflow: "leaf" });
    const asking = runs.filter(({ waits }) => waits !== undefined);
    expect(asking.length).toBeGreaterThan(0);
    const [first] = asking;
    const wait = await asked(app, (first as { runId: string }).runId);
    expect(wait.key).toBe("budget/limit");
    await base.world.run(made().resume(wait.token, { more: 100 }));
    // The others look by themselves.
    const later = made();
    for (let minute = 0; minute < 10; minute++) {
      await base.world.advance(60_000);
      await base.world.run(later.sweep());
    }
    expect(await later.get("r").outcome()).toMatchObject({ status: "completed" });
    expect(paid).toHaveLength(7);
    expect(new Set(paid).size).toBe(7);
  });

  it("a chapter goes on with what the tree has spent", async () => {
    const base = lab();
    const { paid, buy } = shop();
    const leaf = durable("leaf", (ctx, name: string) => buy(ctx, name));
    const root = durable(
      "root",
      async (ctx, chapter: number) => {
        await buy(ctx, `${chapter}a`);
        await ctx.child(leaf, `${chapter}b`);
        if (chapter < 3) return ctx.continueAs(chapter + 1);
        return "done";
      },
      { budget: { most: 3, tree: true } },
    );
    const app = appOf(base, root, leaf);
    await base.world.run(app.run(root, 1, { id: "r" }));
    expect(paid).toEqual(["1a", "1b", "2a"]);
    const { runs } = await app.list({ workflow: "leaf" });
    const asking = runs.find(({ waits }) => waits !== undefined);
    await base.world.run(app.resume((await asked(app, asking?.runId ?? "")).token, { more: 2 }));
    await base.world.run(app.sweep());
    expect(paid).toEqual(["1a", "1b", "2a", "2b", "3a"]);
  });

  it("is refused on a storage without limits", () => {
    const base = lab();
    const storage = { ...hooked(base.storage, () => {}), limits: undefined as never };
    const root = durable("root", async () => {}, { budget: { most: 1, tree: true } });
    expect(() => createApp({ ...base, storage, bind: false, workflows: [root] })).toThrow(
      /cannot keep limits/,
    );
  });
});
