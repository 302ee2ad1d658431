import { createApp, durable, type Context, type DurableError } from "@durable/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { failureOf, kindsOf, lab, outputOf, tokenOf, type Lab } from "../../support/behaviour-lab.ts";
import { batchesOf, dieAt, replayOf, runOf, type Flow } from "../../support/behaviour-lives.ts";
import { afterDeath, dieCharged, shop, till } from "./support/uncertain-till.ts";

/** Answers the open question, as another process would. */
async function answer(on: Lab, flow: Flow, value: unknown, key = "charge/uncertain") {
  const outcome = await flow
    .with({ ...on })
    .get("r")
    .outcome();
  return on.world.run(flow.with({ ...on }).resume(tokenOf(outcome, key), value));
}

describe("an answer to the question", () => {
  test("completed: the value is the step's output, and the effect is not repeated", async () => {
    const on = lab();
    const taken = till();
    const flow = shop(taken, "suspend");
    await afterDeath(on, flow);
    const { status, outcome } = await answer(on, flow, { status: "completed", value: "receipt 1" });
    expect([status, outputOf(outcome)]).toEqual(["accepted", ["receipt 1", "mailed"]]);
    expect(taken.charges).toHaveLength(1);
    expect(await kindsOf(flow.with({ ...on }).get("r"))).toEqual([
      "run.started",
      "step.started charge",
      "suspend.opened charge/uncertain",
      "run.suspended",
      "suspend.resolved charge/uncertain",
      "step.completed charge",
      "step.completed mail",
      "run.completed",
    ]);
    expect(outputOf(await replayOf(on, flow))).toEqual(["receipt 1", "mailed"]);
    expect(on.world.warnings).toEqual([]);
  });

  test("retry: the work runs again, under the same idempotency key, announced anew", async () => {
    const on = lab();
    const taken = till();
    const flow = shop(taken, "suspend");
    await afterDeath(on, flow);
    const { outcome } = await answer(on, flow, { status: "retry" });
    expect(outputOf(outcome)).toEqual(["receipt 2", "mailed"]);
    expect(taken.charges).toHaveLength(2);
    expect(new Set(taken.charges).size).toBe(1);
    expect(outputOf(await replayOf(on, flow))).toEqual(["receipt 2", "mailed"]);
    expect(taken.charges).toHaveLength(2);
    expect(on.world.warnings).toEqual([]);
  });

  test("failed: the step fails with that message, which the workflow may catch; nothing is tried again", async () => {
    const on = lab();
    const taken = till();
    const flow = durable("shop", async (ctx) => {
      const error = await failureOf(ctx.step("charge", taken.charge, { onUncertain: "suspend" }));
      const { code, cause } = error as DurableError & { cause: Error };
      return [code, cause.message, await ctx.step("apologise", () => "sorry")];
    });
    await afterDeath(on, flow);
    const { outcome } = await answer(on, flow, { status: "failed", message: "the card was refused" });
    expect(outputOf(outcome)).toEqual(["step-failed", "the card was refused", "sorry"]);
    expect(taken.charges).toHaveLength(1);
  });

  test.each([
    ["nothing", undefined],
    ["a text", "completed"],
    ["another status", { status: "done" }],
    ["failed without a message", { status: "failed" }],
    ["completed with a value that the step's schema refuses", { status: "completed", value: 7 }],
    ["completed without a value", { status: "completed" }],
  ])("%s: invalid, the question stays open, and the right answer still counts", async (_, value) => {
    const on = lab();
    const taken = till();
    const flow = durable("shop", (ctx) =>
      ctx.step("charge", taken.charge, { onUncertain: "suspend", schema: z.string().trim() }),
    );
    await afterDeath(on, flow);
    const before = await batchesOf(on);
    const refused = await answer(on, flow, value);
    expect(refused).toMatchObject({ status: "invalid", issues: expect.any(String) as string });
    expect(await batchesOf(on)).toEqual(before);
    // The schema's transformation is applied once.
    const { outcome } = await answer(on, flow, { status: "completed", value: " receipt " });
    expect(outputOf(outcome)).toBe("receipt");
    expect(taken.charges).toHaveLength(1);
  });

  test("without code at hand: a bad answer is recorded and leaves the question open, a good one settles it", async () => {
    const on = lab();
    const taken = till();
    const flow = shop(taken, "suspend");
    const token = tokenOf(await afterDeath(on, flow));
    const app = createApp({ ...on, workflows: [flow] });
    await app.resume(token, { status: "perhaps" }, { drive: false });
    expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "suspended", waiting: [{ token }] });
    await app.resume(token, { status: "completed", value: "found" }, { drive: false });
    await on.world.run(app.sweep());
    expect(outputOf(await app.get("r").outcome())).toEqual(["found", "mailed"]);
    expect(taken.charges).toHaveLength(1);
  });

  test("a crash between the answer and its effect does not ask again", async () => {
    for (const value of [{ status: "completed", value: "found" }, { status: "retry" }]) {
      const on = lab();
      const taken = till();
      const flow = shop(taken, "suspend");
      const token = tokenOf(await afterDeath(on, flow));
      await createApp({ ...on, workflows: [] }).resume(token, value, { drive: false });
      // The verdict is written, and its writer dies. (Its first append asks for the run that is there.)
      await dieAt(on, flow, 2);
      const kinds = await kindsOf(flow.with({ ...on }).get("r"));
      expect(kinds.at(-1)).toBe("suspend.resolved charge/uncertain");
      const again = value.status === "retry";
      expect(outputOf(await runOf(on, flow))).toEqual([again ? "receipt 2" : "found", "mailed"]);
      expect(taken.charges).toHaveLength(again ? 2 : 1);
      expect(on.world.warnings).toEqual([]);
    }
  });

  test("a second crash is a second question; replay of both says nothing of orphans or foreign awaits", async () => {
    const on = lab();
    const taken = till();
    const flow = shop(taken, "suspend");
    const first = tokenOf(await afterDeath(on, flow), "charge/uncertain");
    await createApp({ ...on, workflows: [] }).resume(first, { status: "retry" }, { drive: false });
    // Appends of this life: the start, which is there; the verdict; the second announcement; the outcome.
    await dieCharged(on, flow, 4);
    expect(taken.charges).toHaveLength(2);
    const outcome = await runOf(on, flow);
    expect(outcome).toMatchObject({
      waiting: [{ key: "charge/uncertain#2", name: "uncertain", note: { attempt: 1 } }],
    });
    expect(tokenOf(outcome)).not.toBe(first);
    expect(await on.world.run(flow.with({ ...on }).resume(first, { status: "retry" }))).toMatchObject({
      status: "duplicate",
    });
    const end = await answer(on, flow, { status: "completed", value: "receipt" }, "charge/uncertain#2");
    expect(outputOf(end.outcome)).toEqual(["receipt", "mailed"]);
    expect(outputOf(await replayOf(on, flow))).toEqual(["receipt", "mailed"]);
    expect(taken.charges).toHaveLength(2);
    expect(on.world.warnings).toEqual([]);
  });
});

describe("wherever the step is", () => {
  const charges = (c: Context, work: () => string) => c.step("charge", work, { onUncertain: "suspend" });

  test("in branches and loops each has a question of its own, and those that ended are not asked about", async () => {
    const on = lab();
    const ran: string[] = [];
    const work = (name: string) => () => {
      ran.push(name);
      return name;
    };
    const flow = durable("shop", async (ctx) => {
      const drafts = [];
      for (let n = 1; n <= 2; n++)
        drafts.push(await ctx.step("draft", work(`draft ${n}`), { onUncertain: "suspend" }));
      const both = await ctx.parallel({ a: (c) => charges(c, work("a")), b: (c) => charges(c, work("b")) });
      return [...drafts, both];
    });
    // Appends: start; announcement and outcome of the first draft; announcement of the second; its outcome is lost.
    await dieCharged(on, flow, 5);
    const second = await runOf(on, flow);
    expect(second).toMatchObject({ waiting: [{ key: "draft#2/uncertain", note: { step: "draft#2" } }] });
    const token = tokenOf(second);
    await createApp({ ...on, workflows: [] }).resume(
      token,
      { status: "completed", value: "draft 2" },
      { drive: false },
    );
    // The start, the verdict, the outcome, both announcements; both outcomes are lost.
    await dieCharged(on, flow, 5);
    const third = await runOf(on, flow);
    expect(third.status === "suspended" && third.waiting.map(({ key }) => key)).toEqual([
      "parallel[a]/charge/uncertain",
      "parallel[b]/charge/uncertain",
    ]);
    await answer(on, flow, { status: "completed", value: "b" }, "parallel[b]/charge/uncertain");
    const { outcome } = await answer(on, flow, { status: "retry" }, "parallel[a]/charge/uncertain");
    expect(outputOf(outcome)).toEqual(["draft 1", "draft 2", { a: "a", b: "b" }]);
    expect(ran).toEqual(["draft 1", "draft 2", "a", "b", "a"]);
    expect(on.world.warnings).toEqual([]);
  });

  test("renamed with `was` while the question is open, it is still the same question", async () => {
    const on = lab();
    const taken = till();
    const token = tokenOf(await afterDeath(on, shop(taken, "suspend")));
    const renamed = durable("shop", async (ctx) => [
      await ctx.step("pay", taken.charge, { was: "charge", onUncertain: "suspend" }),
      await ctx.step("mail", () => "mailed"),
    ]);
    expect(tokenOf(await runOf(on, renamed), "charge/uncertain")).toBe(token);
    const { outcome } = await answer(on, renamed, { status: "completed", value: "found" });
    expect(outputOf(outcome)).toEqual(["found", "mailed"]);
    expect(taken.charges).toHaveLength(1);
  });

  test("in a race that is lost while the question is open: the question is closed with its branch", async () => {
    const on = lab();
    const taken = till();
    const flow = durable("shop", (ctx) =>
      ctx.race({
        charge: (c) => c.step("charge", taken.charge, { onUncertain: "suspend" }),
        late: (c) => c.sleep("10m"),
      }),
    );
    // The sleep opens beside the announcement.
    await dieCharged(on, flow);
    const outcome = await runOf(on, flow);
    const token = tokenOf(outcome, "race[charge]/charge/uncertain");
    await on.world.advance(600_000);
    expect(outputOf(await runOf(on, flow))).toMatchObject({ name: "late" });
    expect(await on.world.run(flow.with({ ...on }).resume(token, { status: "retry" }))).toMatchObject({
      status: "expired",
    });
    expect(taken.charges).toHaveLength(1);
  });
});
