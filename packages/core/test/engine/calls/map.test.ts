import { durable, type Context, type DurableError } from "@durable/core";
import { countingStorage } from "@durable/testing";
import { describe, expect, expectTypeOf, test } from "vitest";
import { failureOf, kindsOf, lab, outputOf, pause, tokenOf } from "../../support/behaviour-lab.ts";
import { batchesOf, replayOf, runOf } from "../../support/behaviour-lives.ts";
import { childrenOf, Ran } from "./support/child-family.ts";

describe("ctx.map", () => {
  test("gives results in the order of the items, whichever ends first; types follow the function", async () => {
    const on = lab();
    const flow = durable("map", async (ctx) => {
      const results = await ctx.map([30, 10, 20], async (c, ms, index) => {
        expectTypeOf(c).toEqualTypeOf<Context>();
        expectTypeOf(ms).toEqualTypeOf<number>();
        await c.step("wait", () => pause(on.world, ms));
        return { ms, index };
      });
      expectTypeOf(results).toEqualTypeOf<{ ms: number; index: number }[]>();
      const plain = await ctx.map(["a", "b"], (_, text) => text.length, { name: "plain" });
      expectTypeOf(plain).toEqualTypeOf<number[]>();
      return [...results.map(({ ms, index }) => `${index}:${ms}`), ...plain];
    });
    expect(outputOf(await runOf(on, flow))).toEqual(["0:30", "1:10", "2:20", 1, 1]);
    expect(await kindsOf(flow.with({ ...on }).get("r"))).toEqual([
      "run.started",
      "parallel.opened map",
      "step.completed map[1]/wait",
      "step.completed map[2]/wait",
      "step.completed map[0]/wait",
      "parallel.opened plain",
      "run.completed",
    ]);
    expect(outputOf(await replayOf(on, flow))).toEqual(["0:30", "1:10", "2:20", 1, 1]);
  });

  test("names branches by key, or by place, or by the group's own name; a second map counts on", async () => {
    const on = lab();
    const work = (c: Context) => c.step("work", () => 1);
    const flow = durable("map", async (ctx) => {
      await ctx.map(["x", "y"], work, { key: (item, index) => `${item}${index}` });
      await ctx.map(["x"], work);
      await ctx.map(["x"], work, { name: "files", key: (item) => item });
    });
    await runOf(on, flow);
    const keys = (await kindsOf(flow.with({ ...on }).get("r"))).filter((line) => line.startsWith("step"));
    expect(keys).toEqual([
      "step.completed map[x0]/work",
      "step.completed map[y1]/work",
      "step.completed map#2[0]/work",
      "step.completed files[x]/work",
    ]);
  });

  test("works on so many items at a time, and on all of them", async () => {
    for (const concurrency of [1, 3, 100]) {
      const on = lab();
      let now = 0;
      let most = 0;
      const flow = durable("map", (ctx) =>
        ctx.map(
          Array.from({ length: 10 }, (_, n) => n),
          (c, n) =>
            c.step("work", async () => {
              most = Math.max(most, ++now);
              await pause(on.world, 100 - n);
              now -= 1;
              return n;
            }),
          { concurrency },
        ),
      );
      expect(outputOf(await runOf(on, flow))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(most).toBe(Math.min(concurrency, 10));
    }
  });

  test("refuses a repeated key, invalid names, and a concurrency below 1", async () => {
    const on = lab();
    const flow = durable("map", async (ctx) => {
      const codes: string[] = [];
      const note = (error: DurableError): void => void codes.push(`${error.code}: ${error.message}`);
      const tries: (() => Promise<unknown>)[] = [
        () => ctx.map(["a", "b", "a"], (_, item) => item, { key: (item) => item }),
        () => ctx.map([1], (_, item) => item, { key: () => 7 as unknown as string }),
        () => ctx.map([1], (_, item) => item, { name: "a/b" }),
        () => ctx.map([1], (_, item) => item, { concurrency: 0 }),
      ];
      for (const call of tries) await new Promise((resolve) => resolve(call())).catch(note);
      return codes;
    });
    const codes = outputOf(await runOf(on, flow)) as string[];
    expect(codes.map((text) => text.split(":")[0])).toEqual([
      "invalid-options",
      "invalid-name",
      "invalid-name",
      "invalid-options",
    ]);
    expect(codes[0]).toBe('invalid-options: Two items of ctx.map "map" have the key "a". Use unique keys.');
  });

  test("of no items is an empty list, recorded as such", async () => {
    const on = lab();
    const flow = durable("map", async (ctx) => [
      await ctx.map([], () => 1),
      await ctx.map([] as string[], () => 1, { name: "keyed", key: (item) => item }),
    ]);
    expect(outputOf(await runOf(on, flow))).toEqual([[], []]);
    expect(outputOf(await replayOf(on, flow))).toEqual([[], []]);
  });

  test("of 1,000 items: each body once, few appends, and a replay that does nothing", async () => {
    const on = lab();
    const counting = countingStorage(on.storage);
    const ran = new Ran();
    const items = Array.from({ length: 1_000 }, (_, n) => n);
    const flow = durable("map", (ctx) =>
      ctx.map(items, (c, n) => c.step("work", ran.work(ctx, n)), { key: (n) => `item ${n}` }),
    );
    const run = flow.with({ ...on, storage: counting }).run(undefined, { id: "r" });
    expect(outputOf(await on.world.run(run))).toEqual(items);
    expect(ran.bodies).toHaveLength(1_000);
    // What settles together shares an append.
    expect(counting.counts.appends).toBeLessThan(10);
    expect(outputOf(await replayOf(on, flow))).toEqual(items);
    expect(ran.bodies).toHaveLength(1_000);
  });

  test("one item's failure is the map's, and the others stop; a failure that is caught is a result", async () => {
    const on = lab();
    let ended = 0;
    const work = (c: Context, n: number) =>
      c.step(
        "work",
        async ({ signal }) => {
          if (n === 2) throw new Error("two");
          await pause(on.world, 60_000);
          if (!signal.aborted) ended += 1;
          return n;
        },
        { retry: false },
      );
    const flow = durable("map", async (ctx) => {
      const error = await failureOf(ctx.map([1, 2, 3], work));
      const caught = await ctx.map([1, 2, 3], (c, n) => work(c, n).catch(() => "caught"), { name: "caught" });
      return [(error as DurableError).code, caught];
    });
    expect(outputOf(await runOf(on, flow))).toEqual(["step-failed", [1, "caught", 3]]);
    expect(ended).toBe(2);
  });
});

describe("items that change between deploys", () => {
  const mapOf = (items: readonly string[], keyed: boolean, ran = new Ran()) =>
    durable("map", (ctx) =>
      ctx.map(
        items,
        async (c, item) => `${await c.step("work", ran.work(ctx, item))} ${await c.suspend<string>("ok")}`,
        keyed ? { key: (one) => one } : {},
      ),
    );

  test("in another order keep their records when they are keyed", async () => {
    const on = lab();
    const first = await runOf(on, mapOf(["a", "b", "c"], true));
    const ran = new Ran();
    const later = mapOf(["c", "a", "b"], true, ran);
    const second = await runOf(on, later);
    expect(second).toMatchObject({ status: "suspended" });
    for (const item of ["a", "b", "c"])
      expect(tokenOf(second, `map[${item}]/ok`)).toBe(tokenOf(first, `map[${item}]/ok`));
    for (const item of ["b", "a", "c"])
      await on.world.run(later.with({ ...on }).resume(tokenOf(first, `map[${item}]/ok`), `ok ${item}`));
    expect(
      outputOf(
        await later
          .with({ ...on })
          .get("r")
          .outcome(),
      ),
    ).toEqual(["c ok c", "a ok a", "b ok b"]);
    expect(ran.bodies).toEqual([]);
  });

  test("in another order get each other's records when they are not", async () => {
    const on = lab();
    await runOf(on, mapOf(["a", "b"], false));
    const ran = new Ran();
    const later = mapOf(["b", "a"], false, ran).with({ ...on });
    const parked = await runOf(on, later);
    for (const key of ["map[0]/ok", "map[1]/ok"])
      await on.world.run(later.resume(tokenOf(parked, key), "ok"));
    expect(outputOf(await later.get("r").outcome())).toEqual(["a ok", "b ok"]);
    expect(ran.bodies).toEqual([]);
  });

  test.each([
    ["more, by place", ["a", "b", "c", "d"], false],
    ["fewer, by place", ["a", "b"], false],
    ["another one, by key", ["a", "b", "d"], true],
    ["keys where there were places", ["a", "b", "c"], null],
  ] as const)("are %s: the run stops, untouched, and goes on with the old ones", async (_, items, keyed) => {
    const on = lab();
    const before = mapOf(["a", "b", "c"], keyed === true);
    await runOf(on, before);
    const batches = await batchesOf(on);
    const changed = mapOf(items, keyed === null ? true : keyed);
    expect(await runOf(on, changed)).toMatchObject({ status: "blocked", error: { code: "diverged" } });
    expect(await batchesOf(on)).toEqual(batches);
    await on.world.advance(120_000);
    expect(await runOf(on, before)).toMatchObject({ status: "suspended" });
  });
});

describe("children and forks of a map", () => {
  /** Three items, each a child with a step, and a step after it. */
  function family() {
    const ran = new Ran();
    const kid = durable("kid", (ctx, item: string) => ctx.step("work", ran.work(ctx, `${item}!`)));
    const flow = durable("map", async (ctx) => {
      const done = await ctx.map(
        ["a", "b", "c"],
        async (c, item) => [await c.child(kid, item), await c.step("file", ran.work(ctx, item))].join(" "),
        { key: (item) => item, concurrency: 2 },
      );
      return ctx.step("sum", ran.work(ctx, done.join(", ")));
    });
    return { ran, kid, flow };
  }

  test("each item has a child of its own, known by the item's key", async () => {
    const on = lab();
    const { flow } = family();
    expect(outputOf(await runOf(on, flow))).toBe("a! a, b! b, c! c");
    expect(await childrenOf(on.storage, "r")).toHaveLength(3);
    expect(await kindsOf(flow.with({ ...on }).get("r"))).toContain("child.completed map[b]/kid");
  });

  test.each([
    ["from one item", { from: "map[b]" }, ["f map[b]/file", "f sum", "kid work"]],
    ["from its child", { from: "map[b]/kid" }, ["f map[b]/file", "f sum", "kid work"]],
    ["after its child", { after: "map[b]/kid" }, ["f map[b]/file", "f sum"]],
    ["with another output for it", { edit: { "map[b]/kid": "b!" } }, ["f map[b]/file", "f sum"]],
    [
      "from the whole map",
      { from: "map" },
      ["f map[a]/file", "f map[b]/file", "f map[c]/file", "f sum", "kid work", "kid work", "kid work"],
    ],
  ])("a fork %s keeps the others", async (_, options, again) => {
    const on = lab();
    const { ran, flow } = family();
    await runOf(on, flow);
    const before = ran.bodies.length;
    const fork = await flow.with({ ...on }).fork("r", { ...options, id: "f" });
    expect(await on.world.run(fork.result())).toBe("a! a, b! b, c! c");
    const bodies = ran.bodies.slice(before).map((body) => (body.startsWith("f ") ? body : "kid work"));
    expect(bodies.toSorted()).toEqual(again);
    expect(await childrenOf(on.storage, "f")).toHaveLength(
      again.filter((body) => body === "kid work").length,
    );
  });
});
