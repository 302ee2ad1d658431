import { locatorOf } from "../../src/journal/keys.ts";
import { createHash } from "node:crypto";
import { createApp, durable, type Run } from "@durable/core";
import { countingStorage, faultyStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";

const hashOf = (batches: readonly string[]): string =>
  createHash("sha256").update(batches.join("\n")).digest("hex");

/** Six steps of a second each; what each gives says in which run it ran. */
function chain(on: Lab, names = ["a", "b", "c", "d", "e", "f"]) {
  const ran: string[] = [];
  const flow = durable("chain", async (ctx) => {
    const seen: string[] = [];
    for (const name of names)
      seen.push(
        await ctx.step(name, async () => {
          ran.push(`${ctx.runId} ${name}`);
          await pause(on.world, 1_000);
          return `${name} by ${ctx.runId}`;
        }),
      );
    return seen;
  });
  return { flow, ran, names };
}

describe("H44 a parent that is being driven", () => {
  test("is forked at each of its steps while it runs: what it had written stays, and both come to their end", async () => {
    const on = lab();
    const { flow, ran, names } = chain(on);
    const bound = flow.with({ ...on });
    const driving = bound.run(undefined, { id: "parent" });
    const forks: { at: string; from: string; run: Run<string[]> }[] = [];
    for (const [n, at] of names.entries()) {
      // In the middle of this step's body.
      await on.world.advance(500);
      const before = await batchesOf(on, "parent");
      for (const from of names.slice(0, n)) {
        const run = await bound.fork("parent", { from, id: `${at}-${from}` });
        forks.push({ at, from, run });
      }
      expect(hashOf((await batchesOf(on, "parent")).slice(0, before.length))).toBe(hashOf(before));
      await on.world.advance(500);
    }
    expect(outputOf(await on.world.run(driving))).toEqual(names.map((name) => `${name} by parent`));
    const parent = hashOf(await batchesOf(on, "parent"));
    expect(forks).toHaveLength(15);
    for (const { from, run } of forks) {
      const cut = names.indexOf(from);
      expect(await on.world.run(run.result())).toEqual(
        names.map((name, n) => `${name} by ${n < cut ? "parent" : run.id}`),
      );
      expect(ran.filter((line) => line.startsWith(`${run.id} `))).toHaveLength(names.length - cut);
    }
    expect(hashOf(await batchesOf(on, "parent"))).toBe(parent);
  });

  test("may be cancelled or deleted: its forks go on", async () => {
    for (const how of ["cancel", "delete"] as const) {
      const on = lab();
      const { flow, names } = chain(on);
      const bound = flow.with({ ...on });
      const app = createApp({ ...on, workflows: [flow] });
      void bound.run(undefined, { id: "parent" }).catch(() => {});
      await on.world.advance(3_500);
      const run = await bound.fork("parent", { from: "c", id: "f" });
      await app[how]("parent");
      expect(await on.world.run(run.result())).toEqual(
        names.map((name, n) => `${name} by ${n < 2 ? "parent" : "f"}`),
      );
    }
  });
});

/** Forks of forks, each after the newest step; every `every`-th of them adds a step of its own. */
async function descend(on: Lab, depth: number, every: number) {
  let steps = 1;
  const made: string[] = [];
  const flow = durable("deep", async (ctx) => {
    const seen: string[] = [];
    for (let n = 0; n < steps; n++)
      seen.push(
        await ctx.step(`s${n}`, () => {
          made.push(`s${n}`);
          return `s${n} by ${ctx.runId}`;
        }),
      );
    return [...seen, await ctx.suspend<string>("next", { timeout: "1h", fallback: "nobody" })];
  });
  const bound = flow.with({ ...on });
  await on.world.run(bound.run(undefined, { id: "d0" }));
  for (let n = 1; n <= depth; n++) {
    const after = `s${steps - 1}`;
    if (n % every === 0) steps += 1;
    const run: Run = await bound.fork(`d${n - 1}`, { after, id: `d${n}` });
    await on.world.run(run.result().catch(() => null));
  }
  return { flow, made, steps };
}

test("H44 a fork of a fork to depth 100, some with steps of their own: it ends though every ancestor is deleted", async () => {
  const on = lab();
  const depth = 100;
  const { flow, made, steps } = await descend(on, depth, 5);
  expect(steps).toBe(21);
  expect(made, "every step ran once, in the run that had it first").toEqual(
    Array.from({ length: steps }, (_, n) => `s${n}`),
  );
  const storage = countingStorage(on.storage);
  const app = createApp({ ...on, storage, workflows: [flow] });
  for (let n = 0; n < depth; n++) await app.delete(`d${n}`);
  const [head, ...others] = (await on.storage.list({ limit: 1_000 })).runs;
  expect([head?.runId, others]).toEqual([`d${depth}`, []]);
  await on.world.advance(3_600_000);
  storage.counts.reads = 0;
  expect(outputOf(await on.world.run(app.advance(`d${depth}`)))).toEqual([
    ...Array.from({ length: steps }, (_, n) => `s${n} by d${n * 5}`),
    "nobody",
  ]);
  expect(storage.counts.reads, "each ancestor that gives something is read once").toBe(steps + 1);
  // A long line is not named again by each fork: one of them stands for all before it.
  expect(head!.ancestors.length).toBeLessThanOrEqual(17);
  // With the last reader all of them go.
  await app.delete(`d${depth}`);
  for (let n = 0; n <= depth; n++) expect((await on.storage.read(locatorOf(`d${n}`))).length).toBe(0);
});

test("H44 the batch of a fork does not grow with its depth", async () => {
  const on = lab();
  await descend(on, 60, 1);
  const size = async (n: number): Promise<number> => (await batchesOf(on, `d${n}`))[0]!.length;
  const sizes = await Promise.all(Array.from({ length: 60 }, (_, n) => size(n + 1)));
  expect(Math.max(...sizes.slice(30)) / Math.max(...sizes.slice(0, 30))).toBeLessThan(1.2);
});

test("H44 a fork made inside a step is the same run on replay, wherever its maker dies", async () => {
  for (const fault of ["crash-before", "crash-after"] as const) {
    const on = lab();
    const inner = durable("tries", async (ctx) => [
      await ctx.step("plan", () => "plan"),
      await ctx.step("try", () => `try of ${ctx.runId}`),
    ]);
    await on.world.run(inner.with({ ...on }).run(undefined, { id: "base" }));
    const outer = durable("explores", async (ctx) => {
      const id = await ctx.step("fork", async ({ idempotencyKey }) => {
        const run = await inner.with({ ...on }).fork("base", { from: "try", id: idempotencyKey });
        return run.id;
      });
      return [id, await ctx.step("after", () => "after")];
    });
    const dying = faultyStorage(on.storage, {
      world: on.world,
      plan: (operation, index) => (operation === "append" && index === 2 ? fault : null),
    });
    const first = outer.with({ ...on, storage: dying }).run(undefined, { id: "r" });
    await on.world.run(Promise.race([first, dying.died]));
    await on.world.advance(60_000);
    const [id] = outputOf(await on.world.run(outer.with({ ...on }).run(undefined, { id: "r" }))) as string[];
    const forks = (await on.storage.list({ parent: "base" })).runs;
    expect(
      forks.map(({ runId }) => runId),
      fault,
    ).toEqual([id]);
    const run = inner.with({ ...on }).get(id!);
    expect(await on.world.run(run.result())).toEqual(["plan", `try of ${id}`]);
  }
});
