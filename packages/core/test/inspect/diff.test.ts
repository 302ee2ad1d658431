import { durable, FatalError, MemoryStorage } from "@durable/core";
import { diff, lineage, type CallDiff } from "@durable/core/inspect";
import { describe, expect, test } from "vitest";

const secret = "a secret for tests, of no worth";

/** A loan whose parts can be made to come out otherwise. */
function loan() {
  const world = { rate: 5, fails: false };
  const flow = durable(
    "loan",
    async (ctx) => {
      const plan = await ctx.step("plan", () => new Map([["sum", 7n]]));
      const notes = await ctx.stream("notes", () => [`rate ${world.rate}`, "end"]);
      const review = await ctx.suspend<string>("review");
      const rate = await ctx.step("rate", () => {
        if (world.fails) throw new FatalError(`no rate today`);
        return world.rate;
      });
      return [plan.get("sum"), notes.length, review, rate];
    },
    { storage: new MemoryStorage(), secret },
  );
  const start = async (id: string) => {
    await flow.run(undefined, { id });
    return answer(id);
  };
  const answer = async (id: string) => {
    const outcome = await flow.get(id).outcome();
    if (outcome.status === "suspended") await flow.resume(outcome.waiting[0]!.token, "yes");
    return flow.get(id);
  };
  return { flow, world, start, answer };
}

const changes = (calls: readonly CallDiff[]) => calls.map(({ key, change, equal }) => [key, change, equal]);

describe("diff", () => {
  test("of a fork and its parent: same, re-run with or without another outcome, and the ends", async () => {
    const { flow, world, start, answer } = loan();
    const parent = await start("p");
    world.rate = 6;
    const fork = await flow.fork("p", { from: "notes", id: "f" });
    await fork.result().catch(() => {});
    await answer("f");
    const { calls, end } = diff(await parent.entries(), await fork.entries());
    expect(changes(calls)).toEqual([
      ["plan", "same", true],
      ["notes", "re-run", false],
      ["review", "re-run", true],
      ["rate", "re-run", false],
    ]);
    expect(calls[1]).toMatchObject({
      before: { value: ["rate 5", "end"] },
      after: { value: ["rate 6", "end"] },
    });
    expect(end).toEqual({
      equal: false,
      before: { value: [7n, 2, "yes", 5] },
      after: { value: [7n, 2, "yes", 6] },
    });
  });

  test("knows what was edited, and what stands in one of the two alone", async () => {
    const { flow, start } = loan();
    const parent = await start("p");
    const fork = await flow.fork("p", { edit: { review: "no", notes: ["mine"] }, id: "f" });
    await fork.result();
    const { calls } = diff(await parent.entries(), await fork.entries());
    expect(changes(calls)).toEqual([
      ["plan", "same", true],
      ["notes", "edited", false],
      ["review", "edited", false],
      ["rate", "re-run", true],
    ]);
    expect(calls[1]?.after).toEqual({ value: ["mine"] });
    const early = await flow.run(undefined, { id: "early" });
    const half = await flow.get(early.runId).entries();
    const open = diff(half, await parent.entries());
    expect(changes(open.calls).slice(2)).toEqual([
      ["review", "new", false],
      ["rate", "new", false],
    ]);
    expect(open.end).toMatchObject({ equal: false, before: null });
    expect(changes(diff(await parent.entries(), half).calls).slice(2)).toEqual([
      ["review", "gone", false],
      ["rate", "gone", false],
    ]);
  });

  test("shows errors, and an edit that an ancestor made", async () => {
    const { flow, world, start } = loan();
    const parent = await start("p");
    const first = await flow.fork("p", { edit: { plan: new Map([["sum", 8n]]) }, id: "f" });
    await first.result().catch(() => {});
    world.fails = true;
    const second = await flow.fork("f", { edit: { review: "yes" }, id: "g" });
    await second.result().catch(() => {});
    const { calls, end } = diff(await parent.entries(), await second.entries());
    expect(changes(calls).slice(0, 1)).toEqual([["plan", "edited", false]]);
    const rate = calls.find(({ key }) => key === "rate");
    expect(rate).toMatchObject({ change: "re-run", equal: false, before: { value: 5 } });
    expect(rate?.after).toMatchObject({ error: { message: "no rate today" } });
    expect(end.after).toMatchObject({ error: { code: "step-failed" } });
  });

  test("two records at one place of the line are two records", async () => {
    const { flow, start, answer } = loan();
    const parent = await start("p");
    const fork = await flow.fork("p", { from: "plan", id: "f" });
    await fork.result().catch(() => {});
    await answer("f");
    const again = await flow.fork("p", { from: "plan", id: "g" });
    await again.result().catch(() => {});
    await answer("g");
    const [left, right] = [await fork.entries(), await again.entries()];
    // Both count on from their parent, so their own entries have the same positions.
    expect(left.find(({ kind }) => kind === "step.completed")?.seq).toBe(
      right.find(({ kind }) => kind === "step.completed")?.seq,
    );
    const moved = right.map((entry) => ({ ...entry, at: entry.at + 1 }));
    expect(new Set(diff(left, moved).calls.map(({ change }) => change))).toEqual(new Set(["re-run"]));
    expect(
      diff(await parent.entries(), await parent.entries()).calls.every(({ change }) => change === "same"),
    ).toBe(true);
  });
});

describe("lineage", () => {
  test("names parent, places, edits and ancestors; of a run that was started, itself", async () => {
    const { flow, start } = loan();
    const parent = await start("p");
    expect(lineage(await parent.entries())).toEqual({
      runId: "p",
      parent: null,
      label: null,
      from: [],
      after: [],
      edited: [],
      ancestors: [],
    });
    const fork = await flow.fork("p", {
      from: "rate",
      after: "plan",
      edit: { review: "no" },
      label: "twice",
      id: "f",
    });
    await fork.result().catch(() => {});
    expect(lineage(await fork.entries())).toEqual({
      runId: "f",
      parent: "p",
      label: "twice",
      from: ["rate"],
      after: ["plan"],
      edited: ["review"],
      ancestors: ["p"],
    });
    const deeper = await flow.fork("f", { after: "rate", id: "g" });
    await deeper.result().catch(() => {});
    expect(lineage(await deeper.entries())).toMatchObject({
      parent: "f",
      after: ["rate"],
      ancestors: ["p", "f"],
    });
    expect(lineage([])).toBeNull();
  });
});
