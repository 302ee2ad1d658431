/** `crashEverywhere` on flows with streams, children, maps and uncertain steps: clean ones pass, wrong ones are found. */

import { durable, type Context, type Resolution } from "@durable/core";
import { crashEverywhere, recorder, type Fault } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { checks, expectClean, reportOf } from "./support/crash-reports.ts";

const full = inject("full");
/** Every fault, or those of a sample. */
const some = (...faults: Fault[]): { faults?: Fault[] } => (full ? {} : { faults });
const soon = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("streams", () => {
  test("are bodies: counted, waited for in real time, and restarted after a crash", async () => {
    const flow = durable("streaming", async (ctx) => {
      const tokens = await ctx.stream(
        "tokens",
        async function* () {
          for (const token of ["Hel", "lo"]) {
            await soon(5);
            yield token;
          }
        },
        { timeout: "1s" },
      );
      const listed = await ctx.stream("listed", () => [Promise.resolve(1), 2]);
      const letters = await ctx.stream("letters", () => "abc");
      return { text: tokens.join(""), listed, letters };
    });
    const report = await crashEverywhere(flow, some("crash-before", "lose-reply"));
    expectClean(report);
    expect(report.calm.outcome).toMatchObject({
      output: { text: "Hello", listed: [1, 2], letters: ["a", "b", "c"] },
    });
    expect(report.calm.ran).toEqual({ tokens: 1, listed: 1, letters: 1 });
    expect(report.repeated.map(({ key }) => key)).toEqual(["tokens", "listed", "letters"]);
  });

  test("see the clock of the world; a time-out strikes a producer that hangs, and nothing else", async () => {
    const flow = durable("clocks", async (ctx) => {
      await ctx.sleep("30 days");
      const [first] = await ctx.stream("times", async function* () {
        yield new Date().getUTCMonth();
      });
      const hung = await ctx
        .stream(
          "hangs",
          ({ signal }) =>
            new ReadableStream({ pull: () => new Promise((_, no) => signal.addEventListener("abort", no)) }),
          {
            timeout: "30s",
            retry: false,
          },
        )
        .catch((error: Error) => (error.cause as Error).message);
      return [first, hung];
    });
    const report = await crashEverywhere(flow, { bodyWithin: 60, faults: ["crash-before", "lose-reply"] });
    expectClean(report);
    expect(report.calm.outcome).toMatchObject({
      output: [0, expect.stringMatching(/took longer than 30000 ms/)],
    });
  });

  test("with effects whose keys are made of the time are found", async () => {
    const mail = recorder();
    const flow = durable("mailing", (ctx) =>
      ctx.stream("send", async function* () {
        mail.record("send", { key: `mail-${Date.now()}`, payload: "hi" });
        yield "sent";
      }),
    );
    const report = await reportOf(crashEverywhere(flow, { effects: mail }));
    expect(report.effects).toMatchObject([{ kind: "other-key", name: "send" }]);
  });
});

describe("children", () => {
  const kid = durable("kid", async (ctx, n: number) => {
    const doubled = await ctx.step("double", () => n * 2);
    await ctx.sleep("1 day");
    return doubled + (n === 2 ? await ctx.suspend<number>("more") : 0);
  });

  test("are runs of their own whose bodies count, and whose waits are answered", async () => {
    const others = full ? [2, 3] : [2];
    const flow = durable("family", async (ctx) => {
      const first = await ctx.child(kid, 1);
      const rest = await ctx.map(others, (c, n) => c.child(kid, n), { key: (n) => `k${n}` });
      return [first, ...rest];
    });
    const faults: Fault[] | undefined = full ? undefined : ["crash-before"];
    const report = await crashEverywhere(flow, { resume: { more: 5 }, faults });
    expectClean(report);
    expect(report.calm.outcome).toMatchObject({ output: [2, 9, ...(full ? [6] : [])] });
    const bodies = ["kid/double", ...others.map((n) => `map[k${n}]/kid/double`)];
    expect(report.calm.ran).toEqual(Object.fromEntries(bodies.map((key) => [key, 1])));
    expect(report.boundaries.map(({ what }) => what).join()).toMatch(
      /child\.opened kid.*run\.started \(run /,
    );
  });

  test("that fail, or lose a race, are not findings", async () => {
    const failing = durable("failing", async (ctx) => {
      await ctx.step("try", () => 1);
      throw new Error("no");
    });
    const flow = durable("family", async (ctx) => {
      const caught = await ctx.child(failing).catch((error: Error) => (error.cause as Error).message);
      const { name } = await ctx.race({
        kid: (c) => c.child(kid, 2),
        quick: (c) => c.sleep("1h"),
      });
      return { caught, name };
    });
    const report = await crashEverywhere(flow, some("crash-after"));
    expectClean(report);
    expect(report.calm.outcome).toMatchObject({ output: { caught: "no", name: "quick" } });
  });

  test("that read the clock, or choose another way each time, are found", async () => {
    const clocked = durable("clocked", async (ctx) => ctx.step(`at ${Date.now() % 2}`, () => 1));
    const { ambient } = await reportOf(crashEverywhere(durable("parent", (ctx) => ctx.child(clocked))));
    expect(ambient).toMatchObject([{ name: "Date.now", at: expect.stringContaining("kit-more.test.ts") }]);
    let passes = 0;
    const turns = durable("turns", async (ctx) => {
      passes += 1;
      await ctx.step(passes % 2 === 0 ? "even" : "odd", () => 1);
      return ctx.step("last", () => 2);
    });
    const report = await reportOf(crashEverywhere(durable("parent", (ctx) => ctx.child(turns))));
    expect(checks(report)).toContain("order");
  });

  test("whose answer is missing or does not fit are reported, and do not run forever", async () => {
    const flow = durable("family", (ctx) => ctx.child(kid, 2));
    await expect(crashEverywhere(flow)).rejects.toThrow('Add { resume: { "more": ... } }');
    const strict = durable("strict", (ctx) => ctx.suspend("amount", { schema: z.number() }));
    const above = durable("family", (ctx) => ctx.child(strict));
    await expect(crashEverywhere(above, { resume: { amount: "many" } })).rejects.toThrow(
      'The answer in resume.amount does not fit the schema of suspend point "strict/amount"',
    );
  });
});

describe("map", () => {
  test("names its bodies by the keys of their items, or by their indexes", async () => {
    const flow = durable("maps", async (ctx) => {
      const work = (c: Context, n: number): Promise<number> => c.step("work", () => n * 2);
      const named = await ctx.map([1, 2], work, { key: (n) => `n${n}`, name: "named" });
      return [...named, ...(await ctx.map([3, 4], work, { concurrency: 1 }))];
    });
    const report = await crashEverywhere(flow, some("lose-request", "crash-then-apply"));
    expectClean(report);
    expect(report.calm.outcome).toMatchObject({ output: [2, 4, 6, 8] });
    expect(Object.keys(report.calm.ran)).toEqual([
      "named[n1]/work",
      "named[n2]/work",
      "map[0]/work",
      "map[1]/work",
    ]);
  });
});

describe("uncertain steps", () => {
  const bank = recorder();
  const charging = (onUncertain: "retry" | "suspend" | (() => Resolution | Promise<Resolution>)) =>
    durable("charging", async (ctx) => {
      const charge = ({ idempotencyKey }: { readonly idempotencyKey: string }): string => {
        bank.record("charge", { key: idempotencyKey, payload: 100 });
        return "charged";
      };
      await ctx.step("before", () => 1);
      return ctx.step("charge", charge, { onUncertain });
    });

  test("are retried where the code says so", async () => {
    const report = await crashEverywhere(charging("retry"), { effects: bank });
    expectClean(report);
    expect(report.calm.ran).toEqual({ before: 1, charge: 1 });
  });

  test("that suspend are answered through resume: with a value, or with another attempt", async () => {
    for (const uncertain of [{ status: "completed", value: "charged" }, { status: "retry" }]) {
      const report = await crashEverywhere(charging("suspend"), { effects: bank, resume: { uncertain } });
      expectClean(report);
      const again = report.repeated.find(({ key }) => key === "charge")?.cases ?? 0;
      expect(again > 0).toBe(uncertain.status === "retry");
    }
  });

  test("that suspend without an answer are reported", async () => {
    const report = await reportOf(crashEverywhere(charging("suspend"), { effects: bank }));
    expect(report.text()).toContain('The run waits for "uncertain"');
  });

  test("with a function are waited for in real time, and no body counts twice", async () => {
    const find = async (): Promise<Resolution> => {
      const before = Date.now();
      await soon(5);
      if (Date.now() !== before) return { status: "failed", message: "Time did not wait." };
      return bank.effects.length > 0 ? { status: "completed", value: "charged" } : { status: "retry" };
    };
    const report = await crashEverywhere(charging(find), { effects: bank });
    expectClean(report);
    expect(report.repeated.map(({ key }) => key)).toEqual(["before"]);
  });
});
