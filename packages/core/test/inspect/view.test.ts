import { createApp, durable, FatalError, Journal, MemoryStorage } from "@durable/core";
import { viewRun, type RowView } from "@durable/core/inspect";
import { describe, expect, test } from "vitest";

const secret = "a secret for tests, of no worth";
const usage = (inputTokens: number, outputTokens: number) => ({ model: "tide-1", inputTokens, outputTokens });

/** A run with every kind of call; the credit check fails once. */
function loan(storage = new MemoryStorage()) {
  const world = { failures: 1, rate: 5 };
  const appraisal = durable("appraisal", (ctx, house: string) => ctx.step("price", () => house.length));
  const flow = durable(
    "loan",
    async (ctx, name: string) => {
      const plan = await ctx.step("plan", ({ meter }) => {
        meter(usage(1_000, 200));
        return { name };
      });
      await ctx.parallel({
        credit: (c) =>
          c.step(
            "pull",
            () => {
              if (world.failures-- > 0) throw new Error("bureau is down");
              return 700;
            },
            { retry: { attempts: 3, delay: 1 } },
          ),
        house: (c) => c.child(appraisal, "a house"),
      });
      await ctx.stream("notes", () => ["one", "two"]);
      await ctx.sleep(1);
      const answer = await ctx.suspend<boolean>("review", { note: { plan }, timeout: "2 days" });
      return ctx.step("rate", ({ meter }) => {
        meter(usage(500, 50));
        if (!answer) throw new FatalError("refused");
        return world.rate;
      });
    },
    { storage, secret },
  );
  const answer = async (id: string, value: boolean) => {
    const outcome = await flow.get(id).outcome();
    if (outcome.status === "suspended") await flow.resume(outcome.waiting[0]!.token, value);
  };
  return { flow, world, storage, answer };
}

const shape = (rows: readonly RowView[]) =>
  rows.map(({ depth, kind, key, status, attempts }) => [depth, kind, key, status, attempts.length]);

describe("viewRun", () => {
  test("shows calls as a tree, with attempts, while the run waits", async () => {
    const { flow } = loan();
    await flow.run("Ada", { id: "a" });
    const view = viewRun(await flow.get("a").entries());
    expect(view).toMatchObject({
      runId: "a",
      workflow: "loan",
      status: "suspended",
      sleeping: false,
      chapter: 1,
    });
    expect(view.input).toBe("Ada");
    expect(view.endedAt).toBeNull();
    expect(shape(view.rows)).toEqual([
      [0, "step", "plan", "completed", 1],
      [0, "parallel", "parallel", "completed", 0],
      [1, "branch", "parallel[credit]", "completed", 0],
      [2, "step", "parallel[credit]/pull", "completed", 2],
      [1, "branch", "parallel[house]", "completed", 0],
      [2, "child", "parallel[house]/appraisal", "completed", 0],
      [0, "stream", "notes", "completed", 1],
      [0, "sleep", "sleep", "completed", 0],
      [0, "suspend", "review", "open", 0],
    ]);
    expect(view.waits).toMatchObject([
      { key: "review", name: "review", answered: false, note: { plan: { name: "Ada" } } },
    ]);
    expect(view.wakeAt).toBe(view.waits[0]?.expiresAt);
    const [plan, , , pull] = view.rows;
    expect(plan).toMatchObject({ value: { name: "Ada" }, usage: [usage(1_000, 200)], fromJournal: false });
    expect(pull?.attempts[0]).toMatchObject({ number: 1, error: { message: "bureau is down" } });
    expect(pull?.attempts[0]?.retryAt).toBeLessThanOrEqual(pull?.attempts[1]?.startedAt ?? 0);
    expect(view.rows.find(({ key }) => key === "notes")).toMatchObject({ value: ["one", "two"], chunks: 2 });
    expect(view.totals).toMatchObject({ settled: 4, fromJournal: 0, attempts: 4, failedAttempts: 1 });
  });

  test("agrees with the head and the outcome at every stop", async () => {
    const { flow, answer } = loan();
    for (const [id, value] of [
      ["yes", true],
      ["no", false],
    ] as const) {
      await flow.run("Ada", { id });
      await answer(id, value);
      const outcome = await flow.get(id).outcome();
      const head = (await flow.list()).runs.find(({ runId }) => runId === id);
      const view = viewRun(await flow.get(id).entries(), { head });
      expect(view.status).toBe(outcome.status);
      expect(view.status).toBe(head?.status);
      expect(view.startedAt).toBe(head?.createdAt);
      expect(view.waits).toEqual([]);
      expect(view.endedAt).toBe(head?.updatedAt);
    }
    expect(viewRun(await flow.get("yes").entries()).output).toBe(5);
    const failed = viewRun(await flow.get("no").entries());
    expect(failed.error).toMatchObject({ code: "step-failed" });
    expect(failed.rows.at(-1)).toMatchObject({ key: "rate", status: "failed", attempts: [{ number: 1 }] });
  });

  test("tells what a fork inherited, what it saved, and what was edited", async () => {
    const { flow, answer } = loan();
    await flow.run("Ada", { id: "p" });
    await answer("p", true);
    const fork = await flow.fork("p", { edit: { review: false }, id: "f" });
    await fork.result().catch(() => {});
    const prices = { "tide-1": { input: 1, output: 10 } };
    const view = viewRun(await fork.entries(), { prices });
    expect(view.lineage).toMatchObject({ parent: "p", edited: ["review"] });
    expect(view.rows.filter(({ fromJournal }) => !fromJournal).map(({ key }) => key)).toEqual(["rate"]);
    expect(view.rows.find(({ key }) => key === "review")).toMatchObject({ edited: true, value: false });
    expect(view.totals).toMatchObject({ settled: 5, fromJournal: 4, attempts: 1 });
    expect(view.totals.reused).toMatchObject({ inputTokens: 1_000, cost: 0.003 });
    expect(view.totals.spent).toMatchObject({ inputTokens: 500, cost: 0.001 });
    expect(view).not.toHaveProperty("input");
  });

  test("knows a parked sleep, a cancelled run and a blocked one", async () => {
    const storage = new MemoryStorage();
    const nap = durable("nap", (ctx) => ctx.sleep("3 days"), { storage, secret });
    await nap.run(undefined, { id: "n" });
    const asleep = viewRun(await nap.get("n").entries());
    expect(asleep).toMatchObject({ status: "suspended", sleeping: true });
    expect(asleep.rows).toMatchObject([{ kind: "sleep", status: "open", endedAt: null }]);
    expect(asleep.wakeAt).toBe(asleep.rows[0]?.until);
    await nap.cancel("n", { reason: "not needed" });
    const over = viewRun(await nap.get("n").entries());
    expect(over).toMatchObject({ status: "cancelled", error: "not needed" });
    expect(over.rows[0]).toMatchObject({ status: "closed", endedAt: over.endedAt });

    const before = durable("flow", (ctx) => ctx.suspend("old"), { storage, secret });
    const after = durable("flow", (ctx) => ctx.step("new", () => 1), { storage, secret });
    await before.run(undefined, { id: "b" });
    const app = createApp({ storage, secret, workflows: [after], bind: false });
    await app.advance("b");
    const head = (await app.list({ status: "blocked" })).runs[0];
    const stuck = viewRun(await app.get("b").entries(), { head });
    expect(stuck).toMatchObject({ status: "blocked", blocked: { code: "diverged" } });
    expect(stuck.waits).toHaveLength(1);
  });

  test("shows a repeated name, a race and the work that lost it", async () => {
    const flow = durable(
      "race",
      async (ctx) => {
        for (let i = 0; i < 3; i++) await ctx.step("draft", () => i);
        return ctx.race({ fast: (c) => c.step("go", () => "fast"), slow: (c) => c.suspend("never") });
      },
      { storage: new MemoryStorage(), secret },
    );
    await flow.run(undefined, { id: "r" });
    const { rows } = viewRun(await flow.get("r").entries());
    expect(rows.slice(0, 3).map(({ key, name }) => [key, name])).toEqual([
      ["draft", "draft"],
      ["draft#2", "draft"],
      ["draft#3", "draft"],
    ]);
    expect(rows[3]).toMatchObject({
      kind: "race",
      key: "race",
      status: "completed",
      branches: ["fast", "slow"],
    });
    expect(rows.every(({ endedAt }) => endedAt !== null)).toBe(true);
  });

  test("does not read the keys of a journal without a workflow as paths", async () => {
    const storage = new MemoryStorage();
    const journal = await Journal.open("calls", { storage });
    await journal.record("a/b[c]/d", () => 1);
    const entries = await createApp({ storage, workflows: [] }).get("calls").entries();
    expect(shape(viewRun(entries).rows)).toEqual([[0, "step", "a/b[c]/d", "completed", 1]]);
  });

  test("of a run of 10,000 steps is linear work", async () => {
    const storage = new MemoryStorage();
    const flow = durable(
      "long",
      async (ctx) => {
        for (let i = 0; i < 100; i++)
          await ctx.map(
            Array.from({ length: 100 }, (_, j) => j),
            (c, j) => c.step("s", () => j),
          );
      },
      { storage },
    );
    await flow.run(undefined, { id: "l" });
    const view = viewRun(await flow.get("l").entries());
    expect(view.totals.settled).toBe(10_000);
    expect(view.rows).toHaveLength(100 + 2 * 10_000);
  });
});
