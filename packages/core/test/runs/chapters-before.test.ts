/** Chapters that have ended: reading, forking and dropping them. */

import { durable, type Context } from "@durable/core";
import { expect, test } from "vitest";
import { failureOf, lab, outputOf } from "../support/behaviour-lab.ts";

interface State {
  readonly turn: number;
}

/** Three chapters, with a step and a stream each; the last one waits. */
const chat = durable("chat", async (ctx: Context, { turn }: State) => {
  const said = await ctx.step("say", () => `turn ${turn}`);
  await ctx.stream("tokens", () => [said, turn]);
  if (turn < 3) return ctx.continueAs({ turn: turn + 1 });
  await ctx.suspend("more");
  return said;
});

async function chapters() {
  const on = lab();
  const flow = chat.with({ ...on });
  await on.world.run(flow.run({ turn: 1 }, { id: "r" }));
  return { on, flow, run: flow.get("r") };
}

const valuesOf = async (events: AsyncIterable<{ readonly type: string; readonly value?: unknown }>) => {
  const values: unknown[] = [];
  for await (const event of events) values.push(event.value);
  return values;
};

test("entries and streams of each chapter can be read", async () => {
  const { run } = await chapters();
  for (const chapter of [1, 2, 3]) {
    const entries = await run.entries({ chapter });
    expect(entries[0]).toMatchObject({ kind: chapter === 1 ? "run.started" : "run.continued", runId: "r" });
    expect(entries.find(({ kind }) => kind === "step.completed")).toMatchObject({ value: `turn ${chapter}` });
    expect(await valuesOf(run.stream("tokens", { chapter }))).toEqual([`turn ${chapter}`, chapter]);
  }
  expect(await run.entries()).toEqual(await run.entries({ chapter: 3 }));
});

test("positions go on from chapter to chapter, and each has a nonce of its own", async () => {
  const { run } = await chapters();
  const all = (await Promise.all([1, 2, 3].map((chapter) => run.entries({ chapter })))).flat();
  expect(all.map(({ seq }) => seq)).toEqual(all.map((_, i) => i + 1));
  const nonces = all.flatMap((entry) => ("nonce" in entry ? [entry.nonce] : []));
  expect(new Set(nonces).size).toBe(3);
});

test("a chapter that does not exist is not found", async () => {
  const { on, flow, run } = await chapters();
  for (const chapter of [0, 4, 1.5]) {
    expect(await failureOf(run.entries({ chapter }))).toMatchObject({ code: "not-found" });
    expect(await failureOf(on.world.run(flow.fork("r", { from: "say", chapter })))).toMatchObject({
      code: "not-found",
    });
  }
});

test("a fork of an earlier chapter reuses its work, and goes on through chapters of its own", async () => {
  const { on, flow } = await chapters();
  const fork = await flow.fork("r", { chapter: 2, edit: { say: "edited" }, id: "f" });
  expect(await failureOf(on.world.run(fork.result()))).toMatchObject({ code: "suspended" });
  const first = await fork.entries({ chapter: 1 });
  expect(first.filter(({ kind }) => kind === "step.completed")).toMatchObject([{ value: "edited" }]);
  expect((await fork.entries()).find(({ kind }) => kind === "step.completed")).toMatchObject({
    value: "turn 3",
  });
});

test("earlier chapters can be dropped, unless a fork reads them", async () => {
  const { on, flow, run } = await chapters();
  const fork = await flow.fork("r", { chapter: 2, from: "tokens", id: "f" });
  await failureOf(on.world.run(fork.result()));
  expect(await failureOf(run.dropChapters())).toMatchObject({ code: "conflict" });
  expect(await run.entries({ chapter: 1 })).not.toEqual([]);
  const { locator } = (await flow.list()).runs.find(({ runId }) => runId === "f")!;
  await on.storage.delete(locator);
  await run.dropChapters();
  expect(await failureOf(run.entries({ chapter: 2 }))).toMatchObject({ code: "not-found" });
  const outcome = await run.outcome();
  if (outcome.status !== "suspended") throw new Error(outcome.status);
  const { token } = outcome.waiting[0]!;
  const resumed = await on.world.run(flow.resume(token, null));
  expect(outputOf(resumed.outcome)).toBe("turn 3");
});

test("a storage that keeps all chapters says so", async () => {
  const { on } = await chapters();
  const { storage } = on;
  const bare = new Proxy(storage, {
    get: (target, name) => {
      if (name === "dropChapters") return undefined;
      const member = Reflect.get(target, name) as unknown;
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
  const run = chat.with({ ...on, storage: bare }).get("r");
  expect(await failureOf(run.dropChapters())).toMatchObject({ code: "invalid-options" });
});

test("a reader of a stream that is cut off by the next chapter is told", async () => {
  const on = lab();
  const flow = durable("cut", async (ctx: Context, turn: number) => {
    if (turn === 2) return ctx.suspend("end");
    void ctx.stream("tokens", async function* ({ signal }) {
      yield "first";
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    await ctx.sleep(1_000);
    return ctx.continueAs(2);
  }).with({ ...on });
  const run = await flow.start(1, { id: "r" });
  const reading = failureOf(valuesOf(run.stream("tokens")));
  await failureOf(on.world.run(run.result()));
  expect(await on.world.run(reading)).toMatchObject({ code: "run-failed" });
  expect((await run.entries())[0]).toMatchObject({ kind: "run.continued", abandoned: ["tokens"] });
});
