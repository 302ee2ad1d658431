/** Tags: where they come from, where they are recorded, and how lists find runs by them. */

import { createApp, durable, limits, MemoryStorage, type ListQuery } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { describe, expect, test } from "vitest";
import { failureOf, hooked, kindsOf, lab, outputOf, pause } from "../support/behaviour-lab.ts";
import { dieAt, runOf } from "../support/behaviour-lives.ts";
import { bare } from "../support/worker-lab.ts";

const ids = async (
  flow: { list(query: ListQuery): Promise<{ runs: readonly { runId: string }[] }> },
  query: ListQuery,
) => (await flow.list(query)).runs.map(({ runId }) => runId);

describe("tags of a start", () => {
  test("are those of the workflow, and of the start before them", async () => {
    const base = lab();
    const loan = durable("loan", async (_ctx, input: { customer: string }) => input.customer, {
      ...base,
      tags: ({ customer }) => ({ customer, stage: "new" }),
    });
    const fixed = durable("fixed", async () => 1, { ...base, tags: { team: "red" } });
    await base.world.run(loan.run({ customer: "42" }, { id: "a" }));
    await base.world.run(loan.run({ customer: "43" }, { id: "b", tags: { stage: "late", vip: "yes" } }));
    await base.world.run(fixed.run(undefined, { id: "c" }));
    const { runs } = await loan.list();
    expect(runs.map(({ runId, tags }) => [runId, tags])).toEqual([
      ["b", { customer: "43", stage: "late", vip: "yes" }],
      ["a", { customer: "42", stage: "new" }],
    ]);
    expect(await ids(loan, { tags: { customer: "42" } })).toEqual(["a"]);
    expect(await ids(loan, { tags: { customer: "42", stage: "late" } })).toEqual([]);
    expect(await ids(fixed, { tags: { team: "red" } })).toEqual(["c"]);
    const [first] = await loan.get("b").entries();
    expect(first).toMatchObject({ kind: "run.started", tags: { customer: "43", stage: "late", vip: "yes" } });
  });

  test("leave no trace in a run without them", async () => {
    const base = lab();
    const flow = durable("plain", async (ctx) => ctx.step("a", () => 1), base);
    await base.world.run(flow.run(undefined, { id: "r", tags: {} }));
    const { head, batches } = await base.storage.read((await flow.list()).runs[0]?.locator ?? "");
    expect(Object.keys(head ?? {})).not.toContain("tags");
    expect(batches.join("")).not.toContain("tags");
  });

  test("of a run that exists are not changed", async () => {
    const base = lab();
    const flow = durable("again", async () => 1, base);
    await base.world.run(flow.run(undefined, { id: "r", tags: { a: "1" } }));
    await base.world.run(flow.run(undefined, { id: "r", tags: { a: "2" } }));
    expect((await flow.list()).runs[0]?.tags).toEqual({ a: "1" });
  });

  test.each([
    ["a name", { "a b": "1" }],
    ["an empty name", { "": "1" }],
    ["a long name", { ["n".repeat(limits.tagName + 1)]: "1" }],
    ["a value that is no text", { a: 1 }],
    ["a value of two lines", { a: "1\n2" }],
    ["a long value", { a: "v".repeat(limits.tagValue + 1) }],
    ["half of a pair", { a: "\ud800" }],
    ["a list", ["a"]],
    ["a text", "a=1"],
  ])("with %s are refused", async (_, tags) => {
    const flow = durable("wrong", async () => 1, lab());
    const error = await failureOf(flow.start(undefined, { tags: tags as never }));
    expect(error).toMatchObject({ code: "invalid-options" });
    expect((await flow.list()).runs).toEqual([]);
  });

  test("are limited in number", async () => {
    const base = lab();
    const many = Object.fromEntries(Array.from({ length: limits.tags + 1 }, (_, n) => [`t${n}`, ""]));
    const flow = durable("many", async () => 1, base);
    expect(await failureOf(flow.run(undefined, { tags: many }))).toMatchObject({ code: "limit" });
    const { t0: _, ...fewer } = many;
    expect(outputOf(await base.world.run(flow.run(undefined, { tags: fewer })))).toBe(1);
  });

  test("are never encrypted, and everything else is", async () => {
    const base = lab();
    const encryption = aesGcm({ current: "k", keys: { k: crypto.getRandomValues(new Uint8Array(32)) } });
    const flow = durable("sealed", async (ctx) => ctx.tag({ stage: "open-2" }), { ...base, encryption });
    await base.world.run(flow.run({ hidden: "canary" }, { id: "r", tags: { stage: "open-1" } }));
    const { batches } = await base.storage.read((await flow.list()).runs[0]?.locator ?? "");
    expect(batches.join("")).toMatch(/open-1.*open-2/s);
    expect(batches.join("")).not.toContain("canary");
    expect(await ids(flow, { tags: { stage: "open-2" } })).toEqual(["r"]);
  });
});

describe("ctx.tag", () => {
  test("changes and removes tags without an append of its own", async () => {
    const base = lab();
    let appends = 0;
    const storage = hooked(base.storage, (operation, moment) => {
      if (operation === "append" && moment === "before") appends += 1;
    });
    const flow = durable(
      "stages",
      async (ctx) => {
        ctx.tag({ stage: "draft", old: null });
        await ctx.step("a", () => pause(base.world, 50));
        ctx.tag({ stage: "review", by: "ann" });
        ctx.tag({ by: null });
        await ctx.step("b", () => pause(base.world, 50));
        ctx.tag({ stage: "done" });
      },
      { ...base, storage },
    );
    await base.world.run(flow.run(undefined, { id: "r", tags: { old: "1", customer: "42" } }));
    expect(appends).toBe(4);
    expect(await kindsOf(flow.get("r"))).toEqual([
      "run.started",
      "tag.set #tag",
      "step.completed a",
      "tag.set #tag#2",
      "tag.set #tag#3",
      "step.completed b",
      "tag.set #tag#4",
      "run.completed",
    ]);
    expect((await base.storage.list()).runs[0]?.tags).toEqual({ customer: "42", stage: "done" });
  });

  test("does not collide with calls, and is recorded once over replays, branches and chapters", async () => {
    const base = lab();
    const flow = durable(
      "branches",
      async (ctx, round: number): Promise<unknown> => {
        ctx.tag({ [`round${round}`]: "yes" });
        await ctx.step("tag", () => 1);
        await ctx.parallel({ a: async (c) => c.tag({ a: "1" }), b: (c) => c.sleep("2 days") });
        return round < 2 ? ctx.continueAs(round + 1) : round;
      },
      { ...base, patience: 0 },
    );
    const run = await flow.start(1, { id: "r" });
    expect(await base.world.run(run.result())).toBe(2);
    expect((await flow.list()).runs[0]?.tags).toEqual({ round1: "yes", a: "1", round2: "yes" });
    for (const chapter of [1, 2])
      expect((await run.entries({ chapter })).filter(({ kind }) => kind === "tag.set")).toHaveLength(2);
  });

  test("is refused in a step, for wrong tags and for too many, at the same call on replay", async () => {
    const base = lab();
    const seen: unknown[] = [];
    const codeOf = (work: () => void): string => {
      try {
        work();
        return "none";
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    const flow = durable(
      "refused",
      async (ctx) => {
        for (let n = 0; n < limits.tags; n++) ctx.tag({ [`t${n}`]: "x" });
        const codes = [
          codeOf(() => ctx.tag({ "a b": "1" })),
          codeOf(() => ctx.tag({ one: "more" })),
          await ctx.step("inside", () => codeOf(() => ctx.tag({ t0: "y" }))),
        ];
        ctx.tag({ t0: null, one: "more" });
        await ctx.sleep("2 days");
        seen.push(codes);
        return codes;
      },
      { ...base, patience: 0, warm: 0 },
    );
    const run = await flow.start(undefined, { id: "r" });
    expect(await base.world.run(run.result())).toEqual(["invalid-options", "limit", "wrong-context"]);
    const { tags = {} } = (await flow.list()).runs[0] ?? {};
    expect(Object.keys(tags)).toHaveLength(limits.tags);
    expect(tags).toMatchObject({ one: "more" });
  });

  test("of a fork: inherited as they are, and set again where the code runs again", async () => {
    const base = lab();
    const flow = durable(
      "forked",
      async (ctx) => {
        ctx.tag({ first: "1" });
        await ctx.step("a", () => 1);
        ctx.tag({ second: "1" });
        return ctx.step("b", () => 2);
      },
      base,
    );
    await base.world.run(flow.run(undefined, { id: "r", tags: { customer: "42" } }));
    const all = { customer: "42", first: "1", second: "1" };
    const fork = await flow.fork("r", { from: "b", id: "f" });
    expect(await base.world.run(fork.result())).toBe(2);
    const { runs } = await flow.list();
    expect(runs.map(({ runId, tags }) => [runId, tags])).toEqual([
      ["f", all],
      ["r", all],
    ]);
    const again = await flow.fork("r", { from: "a", id: "g" });
    await base.world.run(again.result());
    expect((await again.entries()).filter(({ kind, at }) => kind === "tag.set" && at > 0)).toHaveLength(2);
  });

  test("of children are their own", async () => {
    const base = lab();
    const kid = durable("kid", async () => 1, { tags: { kid: "yes" } });
    const flow = durable("parent", (ctx) => ctx.child(kid), base);
    await base.world.run(flow.run(undefined, { id: "r", tags: { customer: "42" } }));
    const { runs } = await base.storage.list({ parent: "r" });
    expect(runs.map(({ tags }) => tags)).toEqual([{ kid: "yes" }]);
  });
});

describe("list", () => {
  test("finds by version, time and text", async () => {
    const base = lab();
    const flow = durable("v", async () => 1, { ...base, version: "1" });
    await base.world.run(flow.run(undefined, { id: "order-1", tags: { customer: "acme" } }));
    await base.world.advance(60_000);
    const later = base.world.now();
    await base.world.run(flow.with({ version: "2" }).run(undefined, { id: "order-2" }));
    expect(await ids(flow, { version: "1" })).toEqual(["order-1"]);
    expect(await ids(flow, { version: ["1", "2"] })).toEqual(["order-2", "order-1"]);
    expect(await ids(flow, { createdAfter: later })).toEqual(["order-2"]);
    expect(await ids(flow, { createdBefore: later })).toEqual(["order-1"]);
    expect(await ids(flow, { q: "order-" })).toEqual(["order-2", "order-1"]);
    expect(await ids(flow, { q: "ac" })).toEqual(["order-1"]);
    expect((await flow.list({ version: "2" })).runs[0]).toMatchObject({ version: "2" });
  });

  test.each([
    { tags: { a: null } },
    { tags: { "a b": "1" } },
    { tags: "a" },
    { createdAfter: Number.NaN },
    { createdBefore: "today" },
    { q: 7 },
    { version: 2 },
  ])("refuses %o", async (query) => {
    const app = createApp({ ...lab(), workflows: [] });
    expect(await failureOf(app.list(query as never))).toMatchObject({ code: "invalid-options" });
  });

  test("says that a storage cannot find runs", async () => {
    const base = lab();
    const app = createApp({ ...base, storage: bare(new MemoryStorage()), workflows: [] });
    const error = await failureOf(app.list({ tags: { a: "1" } }));
    expect(error).toMatchObject({ code: "invalid-options" });
    expect(String(error)).toContain("finds");
    expect((await app.list({ tags: undefined })).runs).toEqual([]);
  });
});

describe.each(["crash-before", "crash-after", "crash-then-apply"] as const)("%s", (fault) => {
  test.each([1, 2, 3, 4])("at append %i: the tags are those of the code", async (append) => {
    const base = lab(append);
    const flow = durable("stages", async (ctx) => {
      ctx.tag({ stage: "first", gone: "soon" });
      await ctx.step("a", () => 1);
      ctx.tag({ stage: "second", gone: null });
      return ctx.step("b", () => 2);
    });
    await dieAt(base, flow, append, { fault });
    expect(outputOf(await runOf(base, flow))).toBe(2);
    const [run] = (await base.storage.list({ tags: { stage: "second" } })).runs;
    expect(run).toMatchObject({ runId: "r", tags: { stage: "second" } });
    expect((await base.storage.list({ tags: { gone: "soon" } })).runs).toEqual([]);
  });
});
