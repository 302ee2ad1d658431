/** Workflows with one bug each: `crashEverywhere` finds it and says what it is. */

import nodeCrypto, { randomFillSync, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { durable, type Context } from "@durable/core";
import { crashEverywhere, recorder, scriptedModel, type Fault } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { checks, reportOf } from "./support/crash-reports.ts";

describe("state outside of the run", () => {
  test("a module variable that steps add to", async () => {
    const cart: string[] = [];
    const flow = durable("cart", async (ctx) => {
      await ctx.step("pick", () => void cart.push("tea"));
      await ctx.step("pick", () => void cart.push("milk"));
      return cart.length;
    });
    const report = await reportOf(crashEverywhere(flow));
    expect(checks(report)).toContain("output");
    expect(report.text()).toContain("in calm completed with 2, here completed with 4");
  });

  test("one that a step only sets, when every process starts fresh", async () => {
    const process = () => {
      let order: { total: number } | null = null;
      return durable("order", async (ctx) => {
        await ctx.step("load", () => void (order = { total: 80 }));
        return ctx.step("pay", () => order?.total ?? 0);
      });
    };
    const report = await reportOf(crashEverywhere(process));
    const wrong = report.cases.filter(({ problems }) => problems.length > 0);
    expect(wrong.every(({ problems }) => problems[0]?.text.includes("here completed with 0"))).toBe(true);
    expect(wrong.map(({ point, fault }) => `${point.index} ${fault}`)).toEqual([
      "2 crash-after",
      "2 crash-then-apply",
      "3 crash-before",
    ]);
    // Without a setup function, each process sees the state that the last one left.
    await crashEverywhere(process());
  });

  describe("a variable that a step or an answer sets, and that is read after a wait", () => {
    const wait = (how: "suspend" | "sleep" | "long sleep", ctx: Context) =>
      how === "suspend"
        ? ctx.suspend<boolean>("ok")
        : ctx.sleep(how === "sleep" ? "10s" : "30 days").then(() => true);

    test.each(["suspend", "sleep", "long sleep"] as const)("a map, %s", async (how) => {
      const mapped = durable("mapped", async (ctx, ids: string[]) => {
        const seen = new Map<string, number>();
        for (const id of ids) await ctx.step(`score ${id}`, () => void seen.set(id, id.length));
        await wait(how, ctx);
        return ctx.step("sum", () => [...seen.values()].reduce((a, b) => a + b, 0));
      });
      const report = await reportOf(
        crashEverywhere(mapped, {
          input: ["a", "bb"],
          ...(how === "suspend" ? { resume: { ok: true } } : {}),
        }),
      );
      expect(report.calm.problems.map(({ check }) => check)).toEqual(["memory"]);
      expect(report.text()).toMatch(/^mapped: .*\(in calm completed with 0\)\n/);
      expect(report.text()).toContain(
        "in one process that keeps the run in memory completed with 3; with a restart at every wait completed with 0",
      );
      expect(report.text()).toContain("Return the value from the step.");
    });

    test("in a function that makes the workflow, and of a child", async () => {
      const child = durable("child", async (ctx) => {
        let approved = false;
        await ctx.step("ask", () => void (approved = true));
        await ctx.suspend("ok");
        return ctx.step("pay", () => (approved ? "paid" : "refused"));
      });
      const open = () => durable("parent", (ctx) => ctx.child(child));
      const report = await reportOf(crashEverywhere(open, { resume: { ok: true }, faults: [] }));
      expect(report.text()).toMatch(/in memory completed with 'paid'; .* completed with 'refused'/);
    });
  });

  test("one that decides what comes next", async () => {
    let passes = 0;
    const flow = durable("turns", async (ctx) => {
      passes += 1;
      await ctx.step(passes % 2 === 0 ? "even" : "odd", () => 1);
      return ctx.step("last", () => 2);
    });
    const report = await reportOf(crashEverywhere(flow, { throws: true }));
    expect(checks(report)).toContain("order");
    expect(report.text()).toMatch(/call 1 is step (odd|even) \(.*kit-caught\.test\.ts:\d+\) in one pass/);
  });
});

// TypeScript's library for Node does not have it yet.
const { Temporal } = globalThis as unknown as {
  Temporal: { Now: Record<"instant" | "plainDateISO", () => object> };
};

describe("randomness and clock in the workflow", () => {
  test("Math.random that chooses a step", async () => {
    const flow = durable("dice", async (ctx) => {
      if (Math.random() < 0.5) return ctx.step("heads", () => "done");
      return ctx.step("tails", () => "done");
    });
    const { ambient, ok, text } = await reportOf(crashEverywhere(flow));
    expect(ok).toBe(false);
    expect(ambient).toEqual([
      {
        name: "Math.random",
        at: expect.stringMatching(/^packages\/testing\/test\/kit-caught\.test\.ts:\d+$/),
      },
    ]);
    expect(text()).toContain("use ctx.now(), ctx.random() and ctx.uuid()");
  });

  test.each([
    ["Date.now", () => Date.now()],
    ["new Date", () => new Date()],
    ["Date", () => Date()],
    ["Math.random", () => [0].map(Math.random)],
    ["crypto.randomUUID", () => crypto.randomUUID()],
    ["crypto.randomUUID", () => randomUUID()],
    ["crypto.getRandomValues", () => crypto.getRandomValues(new Uint8Array(1))],
    ["performance.now", () => performance.now()],
    ["process.hrtime", () => process.hrtime()],
    ["process.hrtime", () => process.hrtime.bigint()],
    ["process.uptime", () => process.uptime()],
    ["Temporal.Now", () => Temporal.Now.instant()],
    ["Temporal.Now", () => Temporal.Now.plainDateISO()],
    ["Intl.DateTimeFormat", () => new Intl.DateTimeFormat("en").format()],
    ["crypto.randomFill", () => randomFillSync(new Uint8Array(1))],
    ["crypto.getRandomValues", () => nodeCrypto.getRandomValues(new Uint8Array(1))],
  ] as const)("%s, read between steps, in a branch and after a wait; not in a step", async (name, read) => {
    const flow = durable("reads", async (ctx) => {
      await ctx.step("allowed", () => inspect(read()).length > 0);
      await ctx.sleep("1 day");
      await ctx.parallel([async (c) => (read(), c.step("x", () => 1))]);
      return 1;
    });
    const clean = durable("clean", (ctx) => ctx.step("allowed", () => inspect(read()).length > 0));
    const { ambient, totals } = await reportOf(crashEverywhere(flow, { faults: ["crash-before"] }));
    expect(ambient.map((found) => found.name)).toEqual([name]);
    expect(totals.wrong).toBe(0);
    // What is clean in calm is clean after a crash, too: in a sample, the flow above is the one that crashes.
    const faults: Fault[] = inject("full") ? ["crash-before"] : [];
    await crashEverywhere(flow, { faults, allow: [name] });
    await crashEverywhere(clean, { faults });
  });

  test("the globals are restored, also when tests overlap or fail", async () => {
    const get = (owner: object, name: string): unknown => Reflect.get(owner, name);
    const globals = () => [
      Date,
      get(Math, "random"),
      get(crypto, "randomUUID"),
      get(performance, "now"),
      get(process, "hrtime"),
      get(process.hrtime, "bigint"),
      Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, "format"),
      randomUUID,
    ];
    const before = globals();
    const flow = durable("calm", (ctx) => ctx.step("a", () => 1));
    const bad = durable("bad", async () => Date.now());
    await Promise.allSettled([crashEverywhere(flow), crashEverywhere(bad), crashEverywhere(flow)]);
    expect(globals()).toEqual(before);
    expect(new Date().constructor).toBe(Date);
    expect(Object.hasOwn(crypto, "randomUUID")).toBe(false);
  });
});

describe("effects", () => {
  test("a key made of the time", async () => {
    const bank = recorder();
    const flow = durable("refund", (ctx) =>
      ctx.step("pay", () => bank.record("pay", { key: `refund-${Date.now()}`, payload: { total: 80 } })),
    );
    const report = await reportOf(crashEverywhere(flow, { effects: bank }));
    expect(report.effects).toMatchObject([{ kind: "other-key", name: "pay", cases: 1 }]);
    expect(report.text()).toMatch(/pay {2}\{ total: 80 \} under refund-\d+ and refund-\d+\n/);
    expect(report.text()).toContain("append 2, dies before");
  });

  test("a step that is not idempotent: no key at all", async () => {
    const ledger = recorder();
    const flow = durable("ledger", (ctx) => ctx.step("book", () => ledger.record("book", { payload: 40 })));
    const report = await reportOf(crashEverywhere(flow, { effects: ledger }));
    expect(report.effects).toMatchObject([{ kind: "no-key", name: "book" }]);
    expect(report.repeated).toMatchObject([{ key: "book", keyed: false }]);
  });

  test("one key with two payloads", async () => {
    const mail = recorder();
    let sent = 0;
    const flow = durable("mail", (ctx) =>
      ctx.step("send", ({ idempotencyKey }) => {
        mail.record("send", { key: idempotencyKey, payload: `mail ${++sent}` });
      }),
    );
    const report = await reportOf(crashEverywhere(flow, { effects: mail, reset: () => (sent = 0) }));
    expect(report.effects).toMatchObject([{ kind: "other-payload", name: "send" }]);
    expect(report.effects?.[0]?.text).toMatch(/^'mail 1' and 'mail 2' under /);
  });

  test("payload and key both new each time", async () => {
    const mail = recorder();
    let sent = 0;
    const flow = durable("mail", (ctx) =>
      ctx.step("send", () => void mail.record("send", { key: `k${++sent}`, payload: sent })),
    );
    const report = await reportOf(crashEverywhere(flow, { effects: mail }));
    expect(report.effects?.[0]?.text).toMatch(/^2 keys where calm had 1: k\d+, k\d+$/);
  });
});

describe("work outside of any step", () => {
  const mail = recorder();
  const send = (to: string): void => void mail.record("send", { payload: to });

  test("an effect, already in calm, with the line of the workflow and the right advice", async () => {
    const flow = durable("mails", async (ctx) => {
      send("ada");
      await ctx.suspend("ok");
      return ctx.step("a", () => 1);
    });
    const given = { effects: mail, resume: { ok: true }, faults: [] };
    const report = await reportOf(crashEverywhere(flow, given));
    expect(report.outside).toEqual([
      { kind: "effect", name: "send", at: expect.stringMatching(/kit-caught\.test\.ts:\d+$/) },
    ]);
    const line = Number(report.outside[0]?.at.split(":")[1]);
    expect(readFileSync(import.meta.filename, "utf8").split("\n")[line - 1]).toContain('send("ada");');
    expect(report.text()).toContain("Put the effect into ctx.step");
    const crashed = await reportOf(crashEverywhere(flow, { effects: mail, resume: { ok: true } }));
    expect(crashed.text()).not.toContain("info.idempotencyKey");
  });

  test("after an await, in a branch, in a child and in a clean-up; not in steps, streams and their like", async () => {
    const child = durable("child", async (ctx) => {
      await ctx.step("a", () => 1);
      send("child");
    });
    const flow = durable("mails", async (ctx) => {
      await ctx.step("in a step", ({ idempotencyKey }) => {
        mail.record("fine", { key: idempotencyKey });
      });
      await ctx.stream("in a stream", async function* ({ idempotencyKey }) {
        mail.record("fine", { key: idempotencyKey });
        yield 1;
      });
      await ctx.parallel([
        async (c) => {
          await c.step("b", () => 1);
          send("branch");
        },
      ]);
      await ctx.child(child);
    });
    const { outside } = await reportOf(crashEverywhere(flow, { effects: mail, faults: [] }));
    expect(outside.map(({ name }) => name)).toEqual(["send", "send"]);
    expect(new Set(outside.map(({ at }) => at)).size).toBe(2);
  });

  test("a model that is not recorded", async () => {
    const model = scriptedModel(["hi"]);
    const ask = () => model.doGenerate({ prompt: [{ role: "user", content: "hello" }] });
    const flow = durable("chat", async (ctx) => {
      const { finishReason } = await ask();
      return ctx.step("done", () => finishReason.unified);
    });
    const { outside, text } = await reportOf(crashEverywhere(flow, { reset: model, faults: [] }));
    expect(outside).toMatchObject([{ kind: "model", name: "scripted" }]);
    expect(text()).toContain("durableModel");
    const good = durable("chat", (ctx) => ctx.step("ask", async () => (await ask()).finishReason.unified));
    expect((await crashEverywhere(good, { reset: model })).outside).toEqual([]);
  });

  test("a foreign await, unless it is allowed", async () => {
    const flow = durable("foreign", async (ctx) => {
      await ctx.step("a", () => 1);
      await new Promise((resolve) => setTimeout(resolve, 2));
      return ctx.step("b", () => 1);
    });
    const { outside, warnings, text } = await reportOf(crashEverywhere(flow, { faults: [] }));
    expect(outside).toEqual([
      { kind: "await", name: "b", at: expect.stringMatching(/kit-caught\.test\.ts:\d+$/) },
    ]);
    expect(warnings).toEqual([]);
    expect(text()).toContain('foreign await before "b"');
    const allowed = await crashEverywhere(flow, { faults: [], allow: ["foreign-await"] });
    expect(allowed.warnings).toEqual([expect.stringContaining("after awaiting something other than ctx")]);
  });
});

describe("errors in the test itself", () => {
  const flow = durable("asks", async (ctx) => {
    const first = await ctx.suspend<string>("approve");
    return first + (await ctx.suspend<string>("approve"));
  });

  test("a wait without an answer", async () => {
    await expect(crashEverywhere(flow)).rejects.toThrow(
      'The run waits for "approve", which has neither an answer nor a deadline. Add { resume: { "approve": ... } }.',
    );
  });

  test("too few answers", async () => {
    await expect(crashEverywhere(flow, { resume: { approve: ["a"] } })).rejects.toThrow(
      'resume.approve has 1 answer(s), but suspend point "approve#2" is number 2 of that name',
    );
  });

  test("an answer that no suspend point needs is a warning, and fails nothing", async () => {
    const { warnings, calm } = await crashEverywhere(flow, { resume: { approve: ["a", "b"], aprove: 1 } });
    expect(warnings).toEqual([expect.stringContaining('"aprove"')]);
    expect(calm.outcome).toMatchObject({ output: "ab" });
  });

  test("a recorder that recorded nothing is a warning: the fakes are not connected", async () => {
    const plain = durable("plain", (ctx) => ctx.step("send", () => 1));
    const { ok, warnings } = await crashEverywhere(plain, { effects: recorder(), faults: [] });
    expect(ok).toBe(true);
    expect(warnings).toEqual([expect.stringMatching(/recorded nothing.*fakes/)]);
  });

  test("a run that fails by itself", async () => {
    const broken = durable("broken", async (ctx) => {
      await ctx.step("a", () => 1);
      throw new Error("always");
    });
    await expect(crashEverywhere(broken)).rejects.toThrow(/always.*set \{ ends: "failed" \}/);
  });
});
