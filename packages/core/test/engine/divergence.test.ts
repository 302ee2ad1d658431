import { type DurableError, FatalError, type Outcome } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { divergences, type Divergence } from "./support/order-divergences.ts";
import { outputOf, runId, stage, tokenOf, type Code, type Stage } from "../support/order-stage.ts";

const minute = 60_000;
const work = (): number => 1;
const at1 = async (code: Code): Promise<{ at: Stage; token: string; before: readonly string[] }> => {
  const at = stage();
  const parked = await at.run(code, 1);
  at.ran();
  return { at, token: tokenOf(parked, "review"), before: await at.bytes() };
};

const code =
  (change: Divergence, version: "was" | "now"): Code =>
  async (ctx) => {
    await change[version](ctx);
    if (version === "now" && change.key === "review") return "over";
    return ctx.suspend("review");
  };

function blockedError(outcome: Outcome<unknown> | undefined): DurableError {
  if (outcome?.status !== "blocked") throw new Error(`Not blocked: ${JSON.stringify(outcome)}`);
  return outcome.error;
}

describe("H5 the code no longer fits the journal", () => {
  test.each(divergences)("$change: blocked, untouched, and on again with the right code", async (change) => {
    const { at, token, before } = await at1(code(change, "was"));
    const wrong = code(change, "now");
    const key = change.key ?? "a";
    // Asked for by id, by way of the workflow and of an app.
    for (const outcome of [await at.run(wrong), await at.world.run(at.app(wrong).advance(runId))]) {
      const error = blockedError(outcome);
      expect(error.code).toBe("diverged");
      expect(error.details).toMatchObject({ key });
      expect(error.message).toContain(`Run ${runId} does not fit this code`);
      expect(error.message).toContain(`"${key}"`);
    }
    expect(await at.bytes()).toEqual(before);
    // The answer is kept for code that fits.
    const { status, outcome } = await at.world.run(at.flow(wrong).resume(token, "yes"));
    expect([status, blockedError(outcome).code]).toEqual(["accepted", "diverged"]);
    expect(at.ran()).toEqual([]);
    expect(outputOf(await at.run(code(change, "was")))).toBe("yes");
  });

  test.each(divergences)("$change: a fork goes on with the new code, as the message says", async (change) => {
    const { at, before } = await at1(code(change, "was"));
    const wrong = at.flow(code(change, "now"));
    const fork = await at.world.run(wrong.fork(runId, { from: change.key ?? "a", id: "fork" }));
    await at.world.advance(1_000);
    expect(["suspended", "completed"]).toContain((await fork.outcome()).status);
    const { batches } = await at.storage.read(
      (await at.storage.list()).runs.find((run) => run.runId === runId)!.locator,
    );
    expect(batches).toEqual(before);
  });

  test("says what was recorded, what was asked and what to do", async () => {
    const told: Record<string, string> = {};
    for (const change of divergences) {
      const { at } = await at1(code(change, "was"));
      const { message } = blockedError(await at.run(code(change, "now")));
      told[change.change] = message.replace(`Run ${runId} does not fit this code: `, "");
    }
    expect(told).toMatchInlineSnapshot(`
      {
        "a branch added": ""a" is recorded with branches x, y, but the code declares branches x, y, z. Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "a branch of a race renamed": ""a" is recorded with branches x, y, but the code declares branches why, x. Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "a branch removed": ""a" is recorded with branches x, y, but the code declares branches x. Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "a failed attempt became a sleep": ""a" is recorded as kind "step", but the code asks for kind "sleep". Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "a group became a race": ""a" is recorded as kind "parallel", but the code asks for kind "race". Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "a length of time became a moment": ""a" is recorded with 86400000 ms, but the code declares 2026-06-01T00:00:00.000Z. Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "a numbered branch added": ""a" is recorded with 2 branches, but the code declares 3 branches. Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "a step became a group": ""a" is recorded as kind "step", but the code asks for kind "parallel". Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "a step became a sleep": ""a" is recorded as kind "step", but the code asks for kind "sleep". Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "a step became a wait": ""a" is recorded as kind "step", but the code asks for kind "suspend". Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "an open sleep became a step": ""a" is recorded as kind "sleep", but the code asks for kind "step". Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "an open sleep became a wait": ""a" is recorded as kind "sleep", but the code asks for kind "suspend". Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "an open wait became a sleep": ""review" is recorded as kind "suspend", but the code asks for kind "sleep". Restore the code, or fork the run from "review"; then advance it again.",
        "an open wait became a step": ""review" is recorded as kind "suspend", but the code asks for kind "step". Restore the code, or fork the run from "review"; then advance it again.",
        "another declared input": ""a" is recorded with input fingerprint hniovow3iudgghgw, but the code declares input fingerprint ieq2txrl3oztezmq. Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "another length of an open sleep": ""a" is recorded with 86400000 ms, but the code declares 172800000 ms. Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "no declared input any more": ""a" is recorded with input fingerprint hniovow3iudgghgw, but the code declares no input. Restore the code, give the new call another name, or fork the run from "a"; then advance it again.",
        "the open wait vanished": "the code ended without reaching the open suspend point "review". Restore ctx.suspend("review"), pass { was: "review" } if it was renamed, or fork the run; then advance it again.",
        "the step that \`was\` names is no step": ""review" is recorded as kind "suspend", but the code asks for kind "step". Restore the code, or fork the run from "review"; then advance it again.",
      }
    `);
  });
});

describe("a wait that vanished", () => {
  const v1: Code = async (ctx, say) => [await say("a"), await ctx.suspend("review"), await say("b")];

  test("is found at the end, after new work was recorded", async () => {
    const { at, token } = await at1(v1);
    const wrong: Code = async (_, say) => [await say("a"), await say("b")];
    expect(blockedError(await at.run(wrong)).code).toBe("diverged");
    expect(await at.entries()).toContain("step.completed b");
    const { outcome } = await at.world.run(at.flow(v1, 3).resume(token, "yes"));
    expect(outputOf(outcome)).toEqual(["a1", "yes", "b2"]);
  });

  test("may be in a branch that lost: that is no divergence", async () => {
    const { at } = await at1((ctx) =>
      ctx.race({ ask: (c) => c.suspend("review"), late: (c) => c.sleep("1h") }),
    );
    await at.world.advance(60 * minute);
    const quick: Code = (ctx) => ctx.race({ ask: (c) => c.suspend("review"), late: (c) => c.sleep("1h") });
    expect(outputOf(await at.run(quick))).toEqual({ name: "late" });
  });

  // Accepted and then lost: the run completes without the answer, with no orphan and no warning.
  test("and is answered all the same: the answer is not swallowed", async () => {
    const { at, token } = await at1(v1);
    const wrong: Code = async (_, say) => [await say("a"), await say("b")];
    const { outcome } = await at.world.run(at.flow(wrong).resume(token, "yes"));
    expect(blockedError(outcome).code).toBe("diverged");
  });

  test("and was answered without code: the answer is not swallowed", async () => {
    const { at, token } = await at1(v1);
    await at.app(v1).resume(token, "yes", { drive: false });
    expect(blockedError(await at.run((_, say) => say("a"))).code).toBe("diverged");
  });

  // Code that throws on its way looks like code without the wait: the user's error is nowhere to be read.
  test("because the code throws before it: the message has the error", async () => {
    const { at } = await at1(v1);
    const broken: Code = () => Promise.reject(new TypeError("customer is undefined"));
    const error = blockedError(await at.run(broken));
    expect(error.message).toContain("customer is undefined");
    expect(error.cause).toMatchObject({ name: "TypeError" });
  });

  // The way out is code that cannot be written: ctx.suspend("parallel[one]/review").
  test("in a branch: the way out uses names, not keys", async () => {
    const { at } = await at1((ctx) => ctx.parallel({ one: (c) => c.suspend("review") }));
    const error = blockedError(await at.run((ctx) => ctx.parallel({ one: () => 1 })));
    expect(error.message).toContain('open suspend point "parallel[one]/review"');
    expect(error.message).toContain('ctx.suspend("review")');
  });
});

describe("a diverged run", () => {
  test("is left alone by sweeps for a while, and tried at once when asked for", async () => {
    const at = stage();
    let lives = 0;
    const v1: Code = async (ctx, say) => [await say("a"), await ctx.sleep("1h")];
    const wrong: Code = (ctx) => {
      lives += 1;
      return ctx.sleep(5, { name: "a" });
    };
    await at.run(v1, 1);
    await at.world.advance(60 * minute);
    const before = await at.bytes();
    const app = at.app(wrong);
    for (let i = 0; i < 59; i++) {
      await at.world.run(app.sweep());
      await at.world.advance(1_000);
    }
    expect(lives).toBe(1);
    await at.world.advance(minute);
    const [again] = (await at.world.run(app.sweep())).outcomes;
    expect(blockedError(again).code).toBe("diverged");
    expect(lives).toBe(2);
    expect(blockedError(await at.world.run(app.advance(runId))).code).toBe("diverged");
    expect(await at.bytes()).toEqual(before);
    expect(outputOf(await at.run(v1))).toEqual(["a1", undefined]);
  });

  test.each([
    ["paid", "paid"],
    [null, "failed"],
  ])("records what a sibling's running work comes to (%s), and starts nothing more", async (result, kept) => {
    const at = stage();
    const slow = <T>(ms: number, value: T): Promise<T> =>
      new Promise((done) => void at.world.timer(ms, () => done(value)));
    let calls = 0;
    const group =
      (version: 1 | 2): Code =>
      (ctx) =>
        ctx.parallel({
          paid: async (c) => {
            const call = async (): Promise<string> => {
              calls += 1;
              return (await slow(9_000, result)) ?? Promise.reject(new FatalError("failed"));
            };
            const got = await c.step("call", call).catch(() => "failed");
            return [got, await c.step("next", () => version)];
          },
          changed: async (c) => {
            await c.step("quick", work);
            if (version === 2) await c.step("inserted", () => slow(1_000, 1));
            return version === 1 ? c.step("b", work) : c.sleep(5, { name: "b" });
          },
        });
    // "quick" and "b" are recorded; "call" is under way when its driver dies.
    const dying = faultyStorage(at.storage, {
      world: at.world,
      plan: (operation, index) => (operation === "append" && index === 3 ? "crash-after" : null),
    });
    void at.flow(group(1), 1, dying).run(null, { id: runId });
    await at.world.run(dying.died);
    await at.world.advance(minute);
    const before = await at.entries();
    expect(before.at(-1)).toBe("step.completed parallel[changed]/b");
    calls = 0;
    expect(blockedError(await at.run(group(2))).code).toBe("diverged");
    expect((await at.entries()).slice(before.length)).toEqual([
      "step.completed parallel[changed]/inserted",
      `step.${result === null ? "failed" : "completed"} parallel[paid]/call`,
    ]);
    expect(outputOf(await at.run(group(1)))).toEqual({ paid: [kept, 1], changed: 1 });
    expect(calls).toBe(1);
    expect(await at.orphans()).toEqual(["parallel[changed]/inserted"]);
  });
});
