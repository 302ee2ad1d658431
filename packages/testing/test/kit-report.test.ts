/** The text of the report. */

import { stripVTControlCharacters } from "node:util";
import { durable, type Context } from "@durable/core";
import { crashEverywhere, recorder } from "@durable/testing";
import { describe, expect, test } from "vitest";

const masked = (text: string): string => text.replace(/\d+\.\d s/, "0.1 s").replace(/\.ts:\d+/g, ".ts:1");

const approved = durable("approved", async (ctx, name: string) => {
  const draft = await ctx.step("draft", () => `dear ${name}`);
  const answer = await ctx.suspend<string>("approve", { timeout: "7 days" });
  return `${draft}: ${answer}`;
});

describe("a report", () => {
  test("of a correct workflow", async () => {
    const mail = recorder();
    const report = await crashEverywhere(approved, {
      input: "Ada",
      resume: { approve: "yes" },
      effects: mail,
    });
    expect(report.warnings).toHaveLength(1);
    expect(masked(report.text())).toBe(
      `
approved: all 35 cases end as in calm (completed with 'dear Ada: yes')
7 boundaries x 5 faults, 1 body run again, 0.1 s, 0 ms of virtual time

             boundary                               dies before  dies after  lands late  reply lost  request lost
  append  1  run.started                            ok           ok          ok          ok          ok
  append  2  step.completed draft                   ok           ok          ok          ok          ok
  append  3  suspend.opened approve, run.suspended  ok           ok          ok          ok          ok
  read    1  chapter                                ok           ok          ok          ok          ok
  lease   1  take or extend                         ok           ok          ok          ok          ok
  append  4  suspend.resolved approve               ok           ok          ok          ok          ok
  append  5  run.completed                          ok           ok          ok          ok          ok

Effects repeated under another idempotency key: none

Nondeterminism that is not journaled: none

Warnings
  effects has a recorder that recorded nothing. Do the fakes of the workflow call record()?
`.trim(),
    );
  });

  test("of a workflow with most bugs at once", async () => {
    const bank = recorder();
    let lives = 0;
    const flow = durable("wrong", async (ctx) => {
      lives += 1;
      const at = new Date(0).getTime() + Math.floor(Math.random());
      await ctx.step(lives % 2 === 0 ? "left" : "right", () => void bank.record("pay", { payload: 80 }));
      return `${at} ${lives}`;
    });
    const report = await crashEverywhere(flow, {
      effects: bank,
      reset: () => (lives = 0),
      throws: false,
      faults: ["crash-before", "lose-reply"],
    });
    expect(report.ok).toBe(false);
    expect(masked(report.text())).toBe(
      `
wrong: 6 of 6 cases went wrong (in calm completed with '0 1')
3 boundaries x 2 faults, 1 body run again, 0.1 s, 0 ms of virtual time

             boundary              dies before        reply lost
  append  1  run.started           replay, order      replay, order
  append  2  step.completed right  output, replay +2  replay, order
  append  3  run.completed         blocked, order     replay, order

Ended differently than the calm run
  append 3, dies before
    the run is blocked: Run crash does not fit this code: the step "left" has no record, and the recorded step "right" was not asked for. If it was renamed, pass { was: "right" } to keep its result; if "left" is new work, pass { was: null }. Otherwise restore the code, or fork the run from "right". Then advance it again.; in calm it was completed with '0 1'

Output differs from the calm run
  append 2, dies before
    in calm completed with '0 1', here completed with '0 2'
  If steps return something new each time, set { compare: false } or { same }.

Replay does not reach the recorded end
  calm and 4 more cases
    replay from the journal alone: the run is blocked: Run crash does not fit this code: the step "left" has no record, and the recorded step "right" was not asked for. If it was renamed, pass { was: "right" } to keep its result; if "left" is new work, pass { was: null }. Otherwise restore the code, or fork the run from "right". Then advance it again.; live it was completed with '0 1'
  append 2, dies before
    replay from the journal alone: the run is blocked: Run crash does not fit this code: the step "right" has no record, and the recorded step "left" was not asked for. If it was renamed, pass { was: "left" } to keep its result; if "right" is new work, pass { was: null }. Otherwise restore the code, or fork the run from "left". Then advance it again.; live it was completed with '0 2'
  The output of a workflow must depend only on its input and on values from ctx.

Effects repeated under another idempotency key
  pay  80, 2 times, with no key
       append 2, dies before
  A crash between an effect and its record repeats the effect. Hand the service info.idempotencyKey,
  and it will know it for a repetition.

Nondeterminism that is not journaled
  Math.random  packages/testing/test/kit-report.test.ts:1
  calm and 6 more cases
    call 1 is step left (packages/testing/test/kit-report.test.ts:1) in one pass and step right (packages/testing/test/kit-report.test.ts:1) in another
  In a workflow use ctx.now(), ctx.random() and ctx.uuid(), and keep state in the results of steps.
`.trim(),
    );
  });

  test("is coloured in a terminal, with the same text", async () => {
    const report = await crashEverywhere(approved, { input: "Ada", resume: { approve: "yes" } });
    const coloured = report.text({ colour: true });
    expect(coloured).not.toBe(report.text());
    expect(stripVTControlCharacters(coloured)).toBe(report.text());
    // Tests run without a terminal.
    const { FORCE_COLOR } = process.env;
    try {
      process.env["FORCE_COLOR"] = "0";
      expect(String(report)).toBe(report.text());
      process.env["FORCE_COLOR"] = "1";
      expect(String(report)).toBe(coloured);
    } finally {
      if (FORCE_COLOR === undefined) delete process.env["FORCE_COLOR"];
      else process.env["FORCE_COLOR"] = FORCE_COLOR;
    }
  });

  test("shows only what is wrong of a long run, and cuts what does not fit", async () => {
    const flow = durable("long", async (ctx) => {
      for (let i = 0; i < 60; i++) await ctx.step("turn", () => i);
      const parts = Array.from({ length: 5 }, (_, i) => (c: Context) => c.step("part", () => i));
      return (await ctx.parallel(parts)).length;
    });
    const report = await crashEverywhere(flow, { faults: ["lose-reply"] });
    expect(report.text()).toContain("\n  63 more boundaries, all ok\n");
    expect(report.text()).not.toContain("turn#2");
    const short = durable("short", (ctx) =>
      ctx.parallel(Array.from({ length: 5 }, (_, i) => (c: Context) => c.step("part", () => i))),
    );
    const text = (await crashEverywhere(short, { faults: ["lose-reply"] })).text();
    expect(text).toContain("  append  2  step.completed parallel[0]/part +5  ok\n");
  });

  test("says when a point was not reached, and does not call that right or wrong", async () => {
    let runs = 0;
    const flow = durable("shorter", async (ctx) => {
      // A fake that is not reset: later histories find nothing to do.
      const todo = await ctx.step("look", () => (runs++ === 0 ? 1 : 0));
      for (let i = 0; i < todo; i++) await ctx.step("work", () => 1);
    });
    const report = await crashEverywhere(flow, { faults: ["crash-after"] });
    expect(report.totals).toMatchObject({ boundaries: 4, missed: 1, wrong: 0 });
    expect(report.text()).toMatch(/append {2}4 {2}run\.completed {8}not reached/);
    expect(report.text()).toContain("1 not reached");
  });
});

describe("a recorder", () => {
  test("knows a repetition by name and key", () => {
    const desk = recorder();
    expect(desk.record("send", { key: "a", payload: 1 })).toBe(true);
    expect(desk.record("send", { key: "a", payload: 1 })).toBe(false);
    expect(desk.record("send", { key: "b" })).toBe(true);
    expect(desk.record("charge", { key: "a" })).toBe(true);
    expect([desk.record("ping"), desk.record("ping")]).toEqual([true, true]);
    expect(desk.effects).toHaveLength(6);
    desk.reset();
    expect(desk.effects).toEqual([]);
  });
});
