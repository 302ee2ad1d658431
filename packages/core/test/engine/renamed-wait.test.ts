import type { DurableError, Outcome } from "@durable/core";
import { describe, expect, test } from "vitest";
import { tokenOf } from "../support/behaviour-lab.ts";
import { outputOf, runId, stage, type Code, type Stage } from "../support/order-stage.ts";

const review: Code = async (ctx, say) => [await say("a"), await ctx.suspend("review"), await say("b")];
const approval =
  (was?: string): Code =>
  async (ctx, say) => [
    await say("a"),
    await ctx.suspend("approval", was === undefined ? {} : { was }),
    await say("b"),
  ];

const opened = async (code: Code = review, key = "review"): Promise<{ at: Stage; token: string }> => {
  const at = stage();
  const parked = await at.run(code, 1);
  at.ran();
  return { at, token: tokenOf(parked, key) };
};

function blockedError(outcome: Outcome<unknown> | undefined): DurableError {
  if (outcome?.status !== "blocked") throw new Error(`Not blocked: ${JSON.stringify(outcome)}`);
  return outcome.error;
}

describe("an open wait that the code has under another name", () => {
  test("resume keeps its answer, and the run is blocked", async () => {
    const { at, token } = await opened();
    const { status, outcome } = await at.world.run(at.flow(approval()).resume(token, "yes"));
    expect(status).toBe("accepted");
    expect(blockedError(outcome).message).toMatchInlineSnapshot(
      `"Run order-1 does not fit this code: the code waits for "approval" without reaching the open suspend point "review". If "approval" is new and comes first, pass { was: null } to it, or answer it if it is open. Restore ctx.suspend("review"), pass { was: "review" } if it was renamed, or fork the run; then advance it again."`,
    );
    expect(blockedError(outcome)).toMatchObject({
      code: "diverged",
      details: { key: "review", recorded: { kind: "suspend" }, asked: "approval" },
    });
    expect(at.ran()).toEqual([]);
    expect(outputOf(await at.run(approval("review")))).toEqual(["a1", "yes", "b2"]);
  });

  test("also when the new name is open beside it, and then the new one can be answered", async () => {
    const { at, token } = await opened();
    const both = await at.run(approval());
    expect(both.status === "suspended" && both.waiting.map(({ name }) => name)).toEqual([
      "review",
      "approval",
    ]);
    const old = await at.world.run(at.flow(approval()).resume(token, "old"));
    expect(blockedError(old.outcome).code).toBe("diverged");
    const { status, outcome } = await at.world.run(
      at.flow(approval()).resume(tokenOf(both, "approval"), "new"),
    );
    expect(status).toBe("accepted");
    expect(blockedError(outcome).message, "the answer is still missed at the end").toContain(
      'ended without reaching the open suspend point "review"',
    );
  });

  test("an answer that was delivered without code blocks the run", async () => {
    const { at, token } = await opened();
    expect(await at.app(approval()).resume(token, "yes", { drive: false })).toMatchObject({
      status: "accepted",
    });
    const before = await at.bytes();
    for (const outcome of [await at.run(approval()), await at.world.run(at.app(approval()).advance(runId))]) {
      const error = blockedError(outcome);
      expect(error.code).toBe("diverged");
      expect(error.message).toContain(
        'waits for "approval" without reaching the open suspend point "review"',
      );
      expect(error.message).toContain('pass { was: "review" }');
    }
    expect(await at.bytes()).toEqual(before);
    expect(outputOf(await at.run(approval("review")))).toEqual(["a1", "yes", "b2"]);
  });

  test("without an answer the run parks with both names open", async () => {
    const { at } = await opened();
    expect(await at.run(approval())).toMatchObject({ status: "suspended" });
    expect(await at.run(approval())).toMatchObject({ status: "suspended" });
  });

  test("a removed wait is found as well when other waits are left", async () => {
    const two: Code = (ctx) => ctx.parallel({ one: (c) => c.suspend("review"), two: (c) => c.suspend("x") });
    const one: Code = (ctx) => ctx.parallel({ one: () => 1, two: (c) => c.suspend("x") });
    const { at, token } = await opened(two, "parallel[one]/review");
    const { outcome } = await at.world.run(at.flow(one).resume(token, "yes"));
    expect(blockedError(outcome).message).toMatch(/in parallel\[one\]/);
    expect(blockedError(await at.run(one)).details).toMatchObject({ key: "parallel[one]/review" });
  });
});

describe("with `was`", () => {
  test("the old token works, and the answer arrives", async () => {
    const { at, token } = await opened();
    const { status, outcome } = await at.world.run(at.flow(approval("review")).resume(token, "yes"));
    expect([status, outputOf(outcome)]).toEqual(["accepted", ["a1", "yes", "b2"]]);
    expect(await at.orphans()).toEqual([]);
    expect(at.world.warnings).toEqual([]);
  });

  test("the run parks without a second wait", async () => {
    const { at, token } = await opened();
    const parked = await at.run(approval("review"));
    expect(parked.status === "suspended" && parked.waiting.map((wait) => wait.token)).toEqual([token]);
  });

  test.each([
    [1, "review"],
    [2, "review#2"],
    [3, "review#3"],
  ])("round %i is taken over count for count", async (round, key) => {
    const rounds =
      (name: string, was?: string): Code =>
      async (ctx) => {
        const seen: unknown[] = [];
        for (let i = 0; i < 3; i++) seen.push(await ctx.suspend(name, was === undefined ? {} : { was }));
        return seen;
      };
    const at = stage();
    let outcome = await at.run(rounds("review"), 1);
    for (let i = 1; i < round; i++)
      outcome = (await at.world.run(at.flow(rounds("review"), 1).resume(tokenOf(outcome), i))).outcome!;
    const token = tokenOf(outcome, key);
    const kept = await at.world.run(at.flow(rounds("approval")).resume(token, round));
    expect(blockedError(kept.outcome)).toMatchObject({ code: "diverged", details: { key } });
    const renamed = at.flow(rounds("approval", "review"));
    outcome = await at.run(rounds("approval", "review"));
    for (let i = round + 1; i <= 3; i++)
      outcome = (await at.world.run(renamed.resume(tokenOf(outcome), i))).outcome!;
    expect(outputOf(outcome)).toEqual([1, 2, 3]);
  });
});

describe("code that may still reach the wait", () => {
  test.each<[string, Code, unknown]>([
    [
      "after a new step",
      async (ctx, say) => [await say("new"), await ctx.suspend("review")],
      ["new2", "yes"],
    ],
    [
      "after a new group",
      async (ctx, say) => [await ctx.parallel({ x: (c) => say("x", {}, c) }), await ctx.suspend("review")],
      [{ x: "x2" }, "yes"],
    ],
  ])("%s: the answer is accepted and arrives", async (_, code, output) => {
    const { at, token } = await opened((ctx) => ctx.suspend("review"));
    const { status, outcome } = await at.world.run(at.flow(code).resume(token, "yes"));
    expect([status, outputOf(outcome)]).toEqual(["accepted", output]);
  });

  test("after a new sleep: the answer waits for it", async () => {
    const { at, token } = await opened((ctx) => ctx.suspend("review"));
    const code: Code = async (ctx) => [await ctx.sleep("1h"), await ctx.suspend("review")];
    await at.app(code).resume(token, "yes", { drive: false });
    expect(await at.run(code)).toMatchObject({ status: "suspended" });
    await at.world.advance(3_600_000);
    expect(outputOf(await at.run(code))).toEqual([undefined, "yes"]);
  });

  test("in a branch that has lost: no divergence", async () => {
    const race =
      (ms: number): Code =>
      async (ctx) => [
        await ctx.race({ ask: (c) => c.suspend("review"), late: (c) => c.sleep(ms) }),
        await ctx.suspend("other"),
      ];
    const at = stage();
    const parked = await at.run(race(3_600_000), 1);
    await at.app(race(3_600_000)).resume(tokenOf(parked, "race[ask]/review"), "yes", { drive: false });
    const next = await at.run(race(3_600_000));
    expect(next.status === "suspended" && next.waiting.map(({ name }) => name)).toEqual(["other"]);
  });

  test("behind a foreign await: the answer is kept, and a run whose process died meanwhile is looked at again", async () => {
    const at = stage();
    // In the process that dies, the timer never fires.
    const hangs = { now: false };
    const code: Code = (ctx) =>
      ctx.parallel({
        slow: async (c) => {
          await new Promise<void>((resolve) => {
            if (!hangs.now) at.world.timer(5_000, resolve);
          });
          return c.suspend("review");
        },
        other: (c) => c.suspend("other"),
      });
    const parked = await at.run(code, 1);
    await at.world.advance(10_000);
    const opened = await at.world.run(at.app(code, 1).get(runId).outcome());
    expect(opened.status === "suspended" && opened.waiting.map(({ name }) => name)).toEqual([
      "other",
      "review",
    ]);
    await at.app(code, 1).resume(tokenOf(opened, "parallel[slow]/review"), "yes", { drive: false });
    hangs.now = true;
    expect(await at.run(code, 1)).toMatchObject({ status: "suspended" });
    hangs.now = false;
    await at.world.advance(60_000);
    const { runs } = await at.storage.list({ dueAt: at.world.now() });
    expect(runs.map((head) => head.runId)).toEqual([runId]);
    await at.world.run(at.app(code, 1).sweep());
    await at.world.advance(10_000);
    const token = tokenOf(parked, "parallel[other]/other");
    const { outcome } = await at.world.run(at.app(code, 1).resume(token, "no"));
    expect(outputOf(outcome)).toEqual({ slow: "yes", other: "no" });
  });
});
