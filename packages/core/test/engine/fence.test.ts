import { createApp, durable, DurableError, type Outcome, type Storage } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, sqliteLab, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf, silent } from "../support/behaviour-lives.ts";
import { forgetful } from "./support/forgetful.ts";
import { record } from "../support/worker-runs.ts";

/** One step, then one whose body ends when the test says so; all of them say for which input they ran. */
function gated() {
  const gates: (() => void)[] = [];
  const flow = durable("gated", async (ctx, topic: string) => {
    const first = await ctx.step("first", () => `first of ${topic}`);
    const held = await ctx.step("held", async () => {
      await new Promise<void>((resolve) => void gates.push(resolve));
      return `held of ${topic}`;
    });
    return [topic, first, held];
  });
  return { flow, gates };
}

/** A run whose driver is in the middle of a body: its journal has two batches. */
async function underWay(on: Lab) {
  const { flow, gates } = gated();
  const driving = flow.with({ ...on }).run("old", { id: "r" });
  driving.catch(() => {});
  await on.world.advance(100);
  expect(await batchesOf(on)).toHaveLength(2);
  return { flow, gates, driving };
}

/** A driver whose run has gone says that it is blocked, or that it met a conflict; it never has an output of its own. */
async function howItEnded(on: Lab, driving: Promise<Outcome<unknown>>): Promise<string> {
  const [ended] = await on.world.run(Promise.allSettled([driving]));
  if (ended.status === "rejected") return DurableError.is(ended.reason, "conflict") ? "stopped" : "failed";
  return ["blocked", "running", "suspended"].includes(ended.value.status) ? "stopped" : ended.value.status;
}

/** The run is gone, and nothing tells its driver: `app.delete` would end it first. */
async function forgotten({ storage }: Lab): Promise<void> {
  const { runs } = await storage.list();
  await storage.delete(runs.find(({ runId }) => runId === "r")!.locator);
}

describe.each<[string, () => Lab]>([
  ["memory", lab],
  ["SQLite", sqliteLab],
])("H16 a driver that slept while its run was deleted, on %s", (_, opened) => {
  test("writes nothing when it wakes, and the run stays gone", async () => {
    const on = opened();
    const { driving, gates } = await underWay(on);
    const { locator } = (await on.storage.list()).runs[0]!;
    await forgotten(on);
    gates[0]?.();
    expect(await howItEnded(on, driving)).toBe("stopped");
    expect(await on.storage.read(locator)).toMatchObject({ batches: [], length: 0 });
    expect((await on.storage.list()).runs).toEqual([]);
  });

  test("nor where a fork still reads what it had written", async () => {
    const on = opened();
    const { flow, driving, gates } = await underWay(on);
    const fork = await flow.with({ ...on }).fork("r", { after: "first", id: "f" });
    await on.world.advance(100);
    const { locator } = (await on.storage.list()).runs.find(({ runId }) => runId === "r")!;
    const kept = await on.storage.read(locator);
    await forgotten(on);
    gates[0]?.();
    expect(await howItEnded(on, driving)).toBe("stopped");
    expect((await on.storage.read(locator)).batches).toEqual(kept.batches);
    gates[1]?.();
    expect(await on.world.run(fork.result())).toEqual(["old", "first of old", "held of old"]);
  });

  test.each([
    ["shorter", 1],
    ["longer", 3],
  ])("nor into a new run of its id that is %s", async (_length, batches) => {
    const on = opened();
    const { driving, gates } = await underWay(on);
    await forgotten(on);
    await record(on, "r", { workflow: "gated", input: "new" });
    const asking = durable("gated", async (ctx) => [
      await ctx.step("first", () => 1),
      await ctx.suspend("ok"),
    ]);
    if (batches === 3) await on.world.run(createApp({ workflows: [asking], ...on }).advance("r"));
    const before = await batchesOf(on);
    expect(before).toHaveLength(batches);
    gates[0]?.();
    expect(await howItEnded(on, driving)).toBe("stopped");
    expect(await batchesOf(on)).toEqual(before);
  });

  test("nor into a new run of its id that is just as long (H17, H26)", async () => {
    const on = opened();
    const { flow, driving, gates } = await underWay(on);
    const refused = failureOf(driving);
    await forgotten(on);
    const fresh = flow.with({ ...on }).run("new", { id: "r" });
    await on.world.advance(100);
    gates[0]?.();
    await on.world.advance(100);
    gates[1]?.();
    expect(await on.world.run(refused)).toMatchObject({ code: "conflict", details: { deleted: true } });
    expect(outputOf(await on.world.run(fresh))).toEqual(["new", "first of new", "held of new"]);
  });
});

describe("H26 who wrote is compared, not only how much was written", () => {
  /** A storage that grants its lease to every caller. */
  const generous = (on: Lab): Storage => ({
    ...silent(on),
    lease: async (locator) => ({ starts: 1, length: (await on.storage.read(locator)).length }),
  });

  test("a batch of another driver is not taken for one's own because it has the same number", async () => {
    const on = lab();
    const bodies: (() => void)[] = [];
    const flow = durable("twice", async (ctx) => {
      const name = `body ${bodies.length + 1}`;
      const first = await ctx.step(
        "first",
        () => new Promise<string>((resolve) => void bodies.push(() => resolve(name))),
      );
      return [first, await ctx.step("second", () => `second after ${first}`)];
    });
    const bind = flow.with({ ...on, storage: generous(on) });
    const one = bind.run(undefined, { id: "r" });
    await on.world.advance(10);
    const two = bind.run(undefined, { id: "r" });
    await on.world.advance(10);
    // Both write their second batch, to the second place.
    bodies[1]!();
    await on.world.advance(0);
    bodies[0]!();
    const outcomes = await on.world.run(Promise.all([one, two]));
    const writers = (await batchesOf(on)).map((text) => (JSON.parse(text) as { by: string }).by.split("."));
    expect(writers.map(([, number]) => number)).toEqual(["1", "2", "3", "4"]);
    expect(new Set(writers.slice(1).map(([driver]) => driver)).size).toBe(1);
    expect(writers[0]?.[0]).not.toBe(writers[1]?.[0]);
    for (const outcome of outcomes)
      expect(outcome.status === "running" ? ["body 2", "second after body 2"] : outputOf(outcome)).toEqual([
        "body 2",
        "second after body 2",
      ]);
  });

  test("a driver that lost its lease does not release the lease of another", async () => {
    const on = lab();
    const { flow, gates } = gated();
    const first = flow.with({ ...on, storage: generous(on) }).run("r", { id: "r" });
    await on.world.advance(100);
    const { locator } = (await on.storage.list()).runs[0]!;
    await on.world.advance(60_000);
    const second = flow.with({ ...on }).run("r", { id: "r" });
    await on.world.advance(100);
    await on.storage.release(locator, "an earlier owner");
    expect((await on.storage.list({ dueAt: on.world.now() })).runs, "it has a live driver").toEqual([]);
    gates[1]?.();
    expect(outputOf(await on.world.run(second))).toEqual(["r", "first of r", "held of r"]);
    gates[0]?.();
    expect(outputOf(await on.world.run(first)), "and says what the journal says").toEqual([
      "r",
      "first of r",
      "held of r",
    ]);
  });

  // Not so yet: the answer fills the place of the forgotten batch, and the driver's next append fits.
  test.fails("H26 a journal that was cut shorter and grew again to the same length is not written to (H20)", async () => {
    const on = lab();
    const { flow, gates } = gated();
    const storage = forgetful(on);
    const driving = flow.with({ ...on, storage }).run("r", { id: "r" });
    await on.world.advance(50);
    await storage.forget(1);
    const app = createApp({ workflows: [flow], ...on, storage });
    await app.cancel("r");
    const cancelled = await batchesOf({ ...on, storage });
    gates[0]?.();
    await on.world.run(driving.catch(() => null));
    expect(await batchesOf({ ...on, storage })).toEqual(cancelled);
  });
});
