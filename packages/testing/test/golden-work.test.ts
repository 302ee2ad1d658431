/** Everything that can do work in a workflow: none of it runs while golden journals are replayed. */

import { createApp, durable, MemoryStorage, type AnyWorkflow, type Context } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { describe, expect, test } from "vitest";
import { faultyStorage, recordGolden, replayGolden, virtualWorld, type GoldenJournal } from "../src/index.ts";

const secret = "a secret for tests, of no worth";
type Body = (ctx: Context, input: string) => unknown;

/** Every body that started, in any code. */
const began: string[] = [];
const work =
  <T>(name: string, value: T) =>
  (): T => {
    began.push(name);
    return value;
  };

const flow = (body: Body) => durable("article", body);
const waits: Body = (ctx) => ctx.suspend("approve");

function lab() {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  return { world, storage, secret };
}

/** The journal of a run of this code, to replay against other code. */
async function recorded(code: ReturnType<typeof flow>, answer?: unknown): Promise<GoldenJournal> {
  const at = lab();
  const bound = code.with(at);
  const parked = await at.world.run(bound.run("tides", { id: "a-1" }));
  const [point] = parked.status === "suspended" ? parked.waiting : [];
  if (answer !== undefined && point !== undefined) {
    await at.world.run(bound.resume(point.token, answer));
    await at.world.run(bound.run("tides", { id: "a-1" }));
  }
  return recordGolden(at.storage, "a-1");
}

async function verdictOf(journal: GoldenJournal, against: AnyWorkflow) {
  began.length = 0;
  const { journals } = await replayGolden(journal, { against, report: true });
  expect(began, "nothing may begin").toEqual([]);
  return journals[0]!;
}

const kid = durable("kid", async (ctx, name: string) => {
  const done = await ctx.step("work", work(`kid ${name}`, `${name} done`));
  return [done, name === "shy" ? await ctx.suspend<string>("ask") : "not asked"];
});

describe("H54 streams", () => {
  const streaming = flow(async (ctx) => {
    const tokens = await ctx.stream("tokens", work("tokens", ["a", "b"]));
    return [tokens, await ctx.suspend("approve"), await ctx.stream("more", work("more", ["c"]))];
  });

  test("are replayed from their chunks, and their producers do not run", async () => {
    expect(await verdictOf(await recorded(streaming), streaming)).toMatchObject({ verdict: "replays" });
    expect(await verdictOf(await recorded(streaming, "yes"), streaming)).toMatchObject({
      verdict: "replays",
    });
  });

  test("that are new, in a branch of a map, would run", async () => {
    const inserted = flow((ctx) =>
      ctx.map(["left", "right"], (c) => c.stream("tokens", work("tokens", ["a"])), { key: (side) => side }),
    );
    const { verdict, message } = await verdictOf(await recorded(flow(waits)), inserted);
    expect(verdict).toBe("would run map[left]/tokens");
    expect(message).toBe('Run a-1 has no record of stream "map[left]/tokens": with this code it would run.');
  });
});

describe("H54 children", () => {
  const parent = flow(async (ctx) => {
    const first = await ctx.child(kid, "keen");
    return [first, await ctx.map(["shy", "quick"], (c, name) => c.child(kid, name))];
  });

  test("that a parked run waits for are recorded with it, and those that ended are not", async () => {
    const journal = await recorded(parent);
    expect(journal.format).toBe(4);
    expect(journal.children).toHaveLength(1);
    expect(await verdictOf(journal, parent)).toMatchObject({ verdict: "replays", message: null });
    expect((await recorded(parent, "well")).children).toBeUndefined();
  });

  test("have their answers in the parent's journal: a run that ended replays without them", async () => {
    expect(await verdictOf(await recorded(parent, "well"), parent)).toMatchObject({ verdict: "replays" });
  });

  test("of children are recorded, too, and their waits are waits of the run", async () => {
    const middle = durable("middle", (ctx, name: string) => ctx.child(kid, name));
    const grand = flow((ctx) => ctx.child(middle, "shy"));
    const journal = await recorded(grand);
    expect(journal.children).toHaveLength(2);
    expect(await verdictOf(journal, grand)).toMatchObject({ verdict: "replays" });
    const other = flow(async (ctx) => [await ctx.child(middle, "shy"), await ctx.suspend("approve")]);
    expect(await verdictOf(journal, other)).toMatchObject({ verdict: "replays" });
    const both = flow((ctx) => Promise.all([ctx.child(middle, "shy"), ctx.suspend("approve")]));
    const { message } = await verdictOf(journal, both);
    expect(message).toBe(
      'Run a-1 waits for "middle/kid/ask"; with this code it waits for "approve", "middle/kid/ask".',
    );
  });

  test("whose code changed below the run would run its new step, or have diverged", async () => {
    const journal = await recorded(parent);
    let was: null | undefined = null;
    const changed = durable("kid", async (ctx, name: string) => {
      if (name === "shy") await ctx.step("check", work("check", 1), { was });
      return kid.definition.body(ctx as never, name as never);
    });
    const inserted = flow(async (ctx) => {
      const first = await ctx.child(kid, "keen");
      return [first, await ctx.map(["shy", "quick"], (c, name) => c.child(changed, name))];
    });
    expect(await verdictOf(journal, inserted)).toMatchObject({ verdict: "would run kid/check" });
    was = undefined;
    expect(await verdictOf(journal, inserted), "it may be a recorded step").toMatchObject({
      verdict: "diverged",
    });
    const other = flow((ctx) => ctx.child(kid, "another"));
    const { verdict, message } = await verdictOf(journal, other);
    expect(verdict).toBe("diverged");
    expect(message).toMatch(/"kid" is recorded with workflow kid, input/);
  });

  test("are journals of their own, and replay without their parent", async () => {
    const at = lab();
    await at.world.run(parent.with(at).run("tides", { id: "a-1" }));
    const { runs } = await at.storage.list({ workflow: "kid" });
    const journals = await Promise.all(runs.map(({ runId }) => recordGolden(at.storage, runId)));
    began.length = 0;
    const report = await replayGolden(journals, { against: kid });
    expect([report.ok, report.journals.length, began]).toEqual([true, 3, []]);
  });
});

describe("H54 uncertain steps", () => {
  /** Dies after the charge is announced and before its outcome is recorded. */
  async function died(code: ReturnType<typeof flow>): Promise<GoldenJournal> {
    const { world, storage } = lab();
    const plan = (operation: string, index: number) =>
      operation === "append" && index === 3 ? ("crash-before" as const) : null;
    const dying = faultyStorage(storage, { world, plan });
    const run = code.with({ world, storage: dying, secret }).run("tides", { id: "a-1" });
    await world.run<unknown>(Promise.race([run, dying.died]));
    return recordGolden(storage, "a-1");
  }

  test("are neither repeated nor resolved", async () => {
    const find = work("find out", { status: "retry" } as const);
    const charging = (onUncertain: "retry" | typeof find) =>
      flow((ctx) => ctx.step("charge", work("charge", 1), { onUncertain }));
    for (const how of ["retry", find] as const) {
      const journal = await died(charging(how));
      expect(await verdictOf(journal, charging(how)), "where it goes on, it may").toMatchObject({
        verdict: "replays",
      });
    }
  });
});

describe("H54 values outside of the batches", () => {
  const large = flow(async (ctx, topic) => {
    const pages = await ctx.step("write", () =>
      Array.from({ length: 9 }, (_, n) => `${topic} ${n} `.repeat(99)),
    );
    return [pages, await ctx.suspend("approve"), await ctx.step("again", () => pages.toReversed())];
  });

  test("large values are recorded, including those that a fork has from its ancestors", async () => {
    const at = lab();
    const bound = large.with(at);
    await at.world.run(bound.run("tides", { id: "a-1" }));
    const fork = await bound.fork("a-1", { after: "write", id: "a-2" });
    await at.world.run(fork.result().catch(() => null));
    const journal = await recordGolden(at.storage, "a-2");
    expect(Object.keys(journal.ancestors?.[0]?.blobs ?? {}).length).toBeGreaterThan(1);
    expect(await verdictOf(journal, large)).toMatchObject({ verdict: "replays" });
    const ended = await recorded(large, "yes");
    expect(await verdictOf(ended, large)).toMatchObject({ verdict: "replays" });
    const otherwise = flow(async (ctx, topic) => {
      const [pages, answer] = (await large.definition.body(ctx as never, topic as never)) as unknown[];
      return [pages, answer];
    });
    const { verdict, message } = await verdictOf(ended, otherwise);
    expect(verdict).toBe("diverged");
    expect(message).toMatch(
      /ended as completed with \[\["tides 0 .*; with this code it ends with \[\["tides 0/,
    );
  });

  test("H68 an encrypted run is recorded and replayed with its key, and stays encrypted in the file", async () => {
    const encryption = aesGcm({
      current: "k",
      keys: { k: Uint8Array.from({ length: 32 }, (_, at) => at + 9) },
    });
    const at = { ...lab(), encryption };
    const parked = await at.world.run(large.with(at).run("tides", { id: "a-1" }));
    await expect(recordGolden(at.storage, "a-1")).rejects.toMatchObject({ code: "no-key" });
    const token = parked.status === "suspended" ? parked.waiting[0]!.token : "";
    await at.world.run(createApp({ ...at, workflows: [large] }).resume(token, "yes"));
    const journal = await recordGolden(at.storage, "a-1", { encryption });
    expect(JSON.stringify(journal)).not.toContain("tides");
    const today = { against: large, encryption };
    expect(await replayGolden(journal, today)).toMatchObject({ ok: true });
    const other = flow(async (ctx, topic) => {
      await large.definition.body(ctx as never, topic as never);
      return "another end";
    });
    const report = await replayGolden(journal, { against: other, encryption, report: true });
    expect(report.journals[0]).toMatchObject({ verdict: "diverged" });
  });
});
