import { durable, FatalError, type Uncertain } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf } from "../../support/behaviour-lab.ts";
import { dieAt, replayOf, runOf } from "../../support/behaviour-lives.ts";
import { afterDeath, dieCharged, shop, till } from "./support/uncertain-till.ts";

describe("a function finds out", () => {
  /** Charges, dies, comes back; returns the arguments of the function. */
  async function found(find: (uncertain: Uncertain) => unknown, retry: { attempts: number } | false = false) {
    const on = lab();
    const taken = till();
    const asked: Uncertain[] = [];
    const flow = durable("shop", (ctx) =>
      ctx.step("charge", taken.charge, {
        retry: retry === false ? false : { ...retry, delay: "10s", jitter: false },
        onUncertain: (uncertain) => {
          asked.push(uncertain);
          return find(uncertain) as { status: "retry" };
        },
      }),
    );
    const begun = on.world.now();
    const outcome = await afterDeath(on, flow);
    return { on, flow, outcome, asked, begun, charges: taken.charges };
  }

  test("gets key, attempt, start and idempotency key; completed, and the effect is not repeated", async () => {
    const { on, flow, outcome, asked, begun, charges } = await found(() => ({
      status: "completed",
      value: "mine",
    }));
    expect(outputOf(outcome)).toBe("mine");
    const [{ key, attempt, startedAt, idempotencyKey, signal }] = asked as [Uncertain];
    expect({ key, attempt, startedAt, idempotencyKey }).toEqual({
      key: "charge",
      attempt: 1,
      startedAt: begun,
      idempotencyKey: charges[0],
    });
    expect(signal.aborted).toBe(false);
    expect(outputOf(await replayOf(on, flow))).toBe("mine");
    expect(asked).toHaveLength(1);
    expect(charges).toHaveLength(1);
  });

  test("retry: the work runs again; failed: the step has failed", async () => {
    const again = await found(() => Promise.resolve({ status: "retry" }));
    expect(outputOf(again.outcome)).toBe("receipt 2");
    expect(again.charges).toHaveLength(2);
    const failed = await found(() => ({ status: "failed", message: "refused" }), { attempts: 3 });
    expect(failed.outcome).toMatchObject({
      status: "failed",
      error: { code: "step-failed", cause: { message: "refused" } },
    });
    expect(failed.charges).toHaveLength(1);
  });

  test("throws: it is asked again by the step's policy, then the step fails; the effect is not repeated", async () => {
    let calls = 0;
    const late = await found(
      () => (++calls < 3 ? Promise.reject(new Error("busy")) : { status: "completed", value: "late" }),
      {
        attempts: 3,
      },
    );
    expect(outputOf(late.outcome)).toBe("late");
    expect(late.asked).toHaveLength(3);
    const never = await found(() => Promise.reject(new Error("busy")), { attempts: 3 });
    expect(never.outcome).toMatchObject({
      status: "failed",
      error: {
        code: "step-failed",
        cause: {
          message: expect.stringMatching(
            /^Could not determine the outcome of step "charge" of run r: busy/,
          ) as string,
        },
      },
    });
    expect([never.asked.length, never.charges.length]).toEqual([3, 1]);
    const fatal = await found(
      () => {
        throw new FatalError("no such key");
      },
      { attempts: 3 },
    );
    expect([fatal.outcome.status, fatal.asked.length, fatal.charges.length]).toEqual(["failed", 1, 1]);
  });

  test.each([
    ["nothing", undefined],
    ["a text", "completed"],
    ["an unknown status", { status: "ok" }],
  ])("gives %s: not a valid resolution, and the effect is not repeated", async (_, value) => {
    const { outcome, charges } = await found(() => value);
    expect(outcome).toMatchObject({
      status: "failed",
      error: { cause: { message: expect.stringContaining("is not a valid resolution") as string } },
    });
    expect(charges).toHaveLength(1);
  });

  test("dies while it looks: it is asked again, as often as it takes", async () => {
    const on = lab();
    const taken = till();
    let asked = 0;
    const flow = shop(taken, () => {
      asked += 1;
      return { status: "completed", value: "found" };
    });
    await dieCharged(on, flow);
    for (let life = 0; life < 3; life++) await dieAt(on, flow, 2, { fault: "crash-before" });
    expect(outputOf(await runOf(on, flow))).toEqual(["found", "mailed"]);
    expect([asked, taken.charges.length]).toEqual([4, 1]);
  });
});
