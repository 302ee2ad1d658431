/** Parts of the kit that no workflow can make fail while the library is correct. */

import { setImmediate as turn } from "node:timers/promises";
import { durable, MemoryStorage } from "@durable/core";
import { crashEverywhere, scriptedModel, virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { Bodies } from "../src/kit/bodies.ts";
import { callSite } from "../src/kit/call-site.ts";
import { checkJournal, checkOrder } from "../src/kit/checks.ts";
import { emptyNotes, ObservedLife, type Notes, type Pass } from "../src/kit/observed-life.ts";

describe("checks", () => {
  const batch = (by: string, ...entries: readonly { kind: string; key?: string }[]): string =>
    JSON.stringify({ by, entries });
  const sound = [
    batch("a.1", { kind: "run.started" }),
    batch("a.2", { kind: "step.started", key: "x" }, { kind: "attempt.failed", key: "x" }),
    batch("a.5", { kind: "step.started", key: "x" }, { kind: "stream.chunks", key: "s" }),
    batch("a.6", { kind: "stream.completed", key: "s" }, { kind: "child.opened", key: "c" }),
    batch("b.2", { kind: "child.completed", key: "c" }),
    batch("a.3", { kind: "step.completed", key: "x" }, { kind: "suspend.opened", key: "w" }),
    batch("b.1", { kind: "suspend.resolved", key: "w" }),
    batch("a.4", { kind: "run.completed" }),
  ];

  test.each([
    ["sound", sound, []],
    [
      "a key settled twice",
      sound.toSpliced(7, 0, batch("c.1", { kind: "step.failed", key: "x" })),
      [/"x" has 2/],
    ],
    [
      "a stream and a child that end twice",
      sound.toSpliced(
        7,
        0,
        batch("c.1", { kind: "stream.failed", key: "s" }, { kind: "child.failed", key: "c" }),
      ),
      [/"s" has 2/, /"c" has 2/],
    ],
    [
      "a key settled once in each chapter",
      sound.toSpliced(
        7,
        0,
        batch("c.1", { kind: "run.continued" }),
        batch("c.2", { kind: "step.failed", key: "x" }),
      ),
      [],
    ],
    [
      "a key settled twice in the second chapter",
      sound.toSpliced(
        7,
        0,
        batch("c.1", { kind: "run.continued" }),
        batch("c.2", { kind: "step.failed", key: "x" }),
        batch("c.3", { kind: "step.completed", key: "x" }),
      ),
      [/"x" has 2/],
    ],
    [
      "one write id twice",
      sound.toSpliced(7, 0, batch("a.3", { kind: "step.failed", key: "y" })),
      [/one write id/],
    ],
    [
      "an entry after the end",
      [...sound, batch("c.1", { kind: "step.failed", key: "y" })],
      [/after the end/],
    ],
  ])("%s", (_, batches, texts) => {
    const found = checkJournal(batches);
    expect(found).toHaveLength(texts.length);
    for (const [index, text] of texts.entries()) expect(found[index]?.text).toMatch(text);
  });

  test("passes may stop early but not differ", () => {
    const pass = (...what: readonly string[]) => what.map((text) => ({ what: text, from: new Error(text) }));
    expect(checkOrder([])).toEqual([]);
    expect(checkOrder([pass("a"), pass("a", "b", "c"), pass(), pass("a", "b")])).toEqual([]);
    const [found] = checkOrder([pass("a", "c"), pass("a", "b", "c")]);
    expect(found?.text).toMatch(/^call 2 is c \(.*kit-parts\.test\.ts:\d+\) in one pass and b \(/);
  });
});

const passesOf = ({ passes }: Notes): Pass[] => [...passes.values()].flat();

describe("an observed process", () => {
  const parts = () => {
    const world = virtualWorld();
    const storage = new MemoryStorage({ now: () => world.now() });
    const secret = "a secret for tests, of no worth";
    const host = { storage, world, secret, patience: 0 };
    return { world, host, bodies: new Bodies(10), notes: emptyNotes() };
  };

  test("that is dead starts no body and records nothing", async () => {
    let calls = 0;
    const flow = durable("one", (ctx) => ctx.step("a", () => ++calls));
    const dead = parts();
    const life = new ObservedLife(dead);
    life.end();
    void life.observe(flow).with(dead.host).run();
    for (let i = 0; i < 20; i++) await turn();
    expect(calls).toBe(0);
    expect(dead.notes).toEqual(emptyNotes());

    const living = parts();
    await living.world.run(new ObservedLife(living).observe(flow).with(living.host).run());
    expect(calls).toBe(1);
    expect(living.notes.ran).toEqual(new Map([["a", 1]]));
    expect(passesOf(living.notes).map((pass) => pass.map(({ what }) => what))).toEqual([["step a"]]);
  });

  test("distinguishes branches and repeated names, and leaves results and tokens unchanged", async () => {
    const flow = durable("names", async (ctx) => {
      await ctx.parallel({ a: (c) => c.step("x", () => 1), b: (c) => c.step("x", () => 2) });
      await ctx.parallel([(c) => c.step("x", () => 3)], { name: "again" });
      await ctx.step("x", () => 4);
      await ctx.step("x", () => 5);
      const wait = ctx.suspend("w", { timeout: 5, fallback: "late" });
      return [wait.token.length, wait.key, await wait, ctx.step === ctx.step, ctx.runId, ctx.signal.aborted];
    });
    const living = parts();
    const bound = new ObservedLife(living).observe(flow).with(living.host);
    const run = await living.world.run(bound.start(undefined, { id: "r" }));
    expect(await living.world.run(run.result({ wait: true }))).toEqual([55, "w", "late", true, "r", false]);
    expect([...living.notes.ran.keys()]).toEqual([
      "parallel[a]/x",
      "parallel[b]/x",
      "again[0]/x",
      "x",
      "x#2",
    ]);
    expect(
      passesOf(living.notes)
        .at(-1)
        ?.map(({ what }) => what),
    ).toEqual([
      "parallel parallel of a, b",
      "step parallel[a]/x",
      "step parallel[b]/x",
      "parallel again",
      "step again[0]/x",
      "step x",
      "step x#2",
      "suspend w",
    ]);
  });
});

describe("bodies", () => {
  test("are waited for, and a hanging one only once", async () => {
    const bodies = new Bodies(5);
    expect(await bodies.wait()).toBe(false);
    const work = Promise.withResolvers<void>();
    void bodies.run("quick", () => work.promise);
    setTimeout(() => work.resolve(), 2);
    expect(await bodies.wait()).toBe(true);
    expect(await bodies.wait()).toBe(false);

    void bodies.run("hangs", () => new Promise(() => {}));
    expect([await bodies.wait(), await bodies.wait()]).toEqual([true, false]);
    void bodies.run("hangs", () => new Promise(() => {}));
    expect(await bodies.wait()).toBe(false);
    expect(() =>
      bodies.run("throws", () => {
        throw new Error("at once");
      }),
    ).toThrow("at once");
    await bodies.settled();
    expect(await bodies.wait()).toBe(false);
  });
});

test("a call site is the user's own line, or null", () => {
  const stack = (...lines: readonly string[]): Error =>
    Object.assign(new Error("x"), {
      stack: ["Error: x", ...lines.map((line) => `    at ${line}`)].join("\n"),
    });
  const here = process.cwd();
  const own = `body (file://${here}/src/flow.ts:7:3)`;
  expect(callSite(stack(own))).toBe("src/flow.ts:7");
  expect(callSite(stack(`async ${here}/src/flow.ts:7:3`))).toBe("src/flow.ts:7");
  expect(callSite(stack("Array.map (<anonymous>)", own))).toBe("src/flow.ts:7");
  expect(callSite(stack(`v4 (/x/node_modules/@scope/uuid/v4.js:1:1)`, own))).toBe(
    "src/flow.ts:7 (through @scope/uuid)",
  );
  expect(callSite(stack(`v4 (/x/node_modules/uuid/v4.js:1:1)`))).toBe("/x/node_modules/uuid/v4.js:1");
  expect(callSite(stack("fetch (node:internal/deps/undici:1:1)", own))).toBeNull();
  expect(callSite(stack("draw (/x/node_modules/@durable/core/dist/world.js:1:1)", own))).toBeNull();
});

test("a model whose script has run out is not asked again, and the run says why it failed", async () => {
  const model = scriptedModel(["one"]);
  const ask = (content: string) => model.doGenerate({ prompt: [{ role: "user", content }] });
  const flow = durable("asks", async (ctx) => {
    await ctx.step("think", async () => (await ask("a")).finishReason.unified);
    return ctx.step("think", async () => (await ask("b")).finishReason.unified);
  });
  const { calm } = await crashEverywhere(flow, { reset: model, ends: "failed", faults: ["crash-before"] });
  expect(calm.ran).toEqual({ think: 1, "think#2": 1 });
  await expect(crashEverywhere(flow, { reset: model })).rejects.toThrow(/has 1 turn, and all are used up/);
});
