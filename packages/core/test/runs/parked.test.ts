import { createApp, durable, MemoryStorage, type Outcome, type Storage } from "@durable/core";
import { countingStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { ParkedRuns, type Parked } from "../../src/runs/parked.ts";
import { lab, pause, secret } from "../support/behaviour-lab.ts";

/** A workflow of many steps and two waits; `passes` counts how often its function was called. */
function waiting(steps = 20) {
  const seen = { passes: 0, bodies: 0, ends: 0 };
  const flow = durable("waiting", async (ctx) => {
    seen.passes += 1;
    for (let i = 0; i < steps; i++) await ctx.step("work", () => (seen.bodies += 1));
    const first = await ctx.suspend<string>("first");
    const between = await ctx.step("between", () => (seen.bodies += 1));
    const second = await ctx.suspend<string>("second");
    seen.ends += 1;
    return [first, between, second];
  });
  return { flow, seen };
}

function token(outcome: Outcome<unknown> | undefined): string {
  if (outcome?.status !== "suspended") throw new Error(`the run is ${outcome?.status}, not suspended`);
  return outcome.waiting[0]?.token ?? "";
}

/** Notes from where on journals are read. */
function noting(storage: Storage): Storage & { readonly froms: number[] } {
  const froms: number[] = [];
  const noted: Storage = Object.create(storage) as Storage;
  Object.assign(noted, { readChapter: undefined });
  for (const name of ["append", "list", "lease", "release", "delete", "changed", "paused"] as const)
    noted[name] = (storage[name] as () => never).bind(storage);
  noted.read = (locator, from = 0) => {
    froms.push(from);
    return storage.read(locator, from);
  };
  return Object.assign(noted, { froms });
}

describe("a parked run that stays warm", () => {
  test("a call that has driven it returns nothing: another one may use it by then", async () => {
    const parked = new ParkedRuns(10);
    const journal = { locator: "l", state: { end: null }, size: 1, refresh: () => Promise.resolve([]) };
    const execution = { journal, parked: true } as unknown as Parked;
    parked.keep(execution);
    const first = await parked.checkOut("l");
    const user = parked.user(first!);
    parked.take(first!);
    // The first caller has driven it, it is parked again, and a second caller comes before the first is done.
    parked.keep(execution);
    const second = await parked.checkOut("l");
    parked.checkIn(first!, user);
    expect(parked.checkedOut(second!), "still with the second caller").toBe(execution);
    expect(await parked.checkOut("l"), "and not given to a third one").toBeNull();
  });

  test("one that has missed what another driver wrote is not handed out", async () => {
    const parked = new ParkedRuns(10);
    for (const outside of [true, false]) {
      const refresh = (): Promise<unknown> => Promise.resolve([{ outside }]);
      const journal = { locator: "l", state: { end: null }, size: 1, refresh };
      parked.keep({ journal, parked: true } as unknown as Parked);
      expect(await parked.checkOut("l"), `outside: ${outside}`).toBe(outside ? journal : null);
    }
  });

  test("an answer in the same process calls no function again and reads the tail alone", async () => {
    const storage = noting(new MemoryStorage());
    const { flow, seen } = waiting();
    const bound = flow.with({ storage, secret });
    const parked = await bound.run(undefined, { id: "r" });
    storage.froms.length = 0;
    const first = await bound.resume(token(parked), "a");
    expect(first.status).toBe("accepted");
    const second = await bound.resume(token(first.outcome), "b");
    expect(second.outcome).toMatchObject({ status: "completed", output: ["a", 21, "b"] });
    expect(seen).toEqual({ passes: 1, bodies: 21, ends: 1 });
    expect(storage.froms).toHaveLength(2);
    expect(Math.min(...storage.froms)).toBeGreaterThan(0);
  });

  test("costs the same appends as a cold one, and no read more", async () => {
    const costs = await Promise.all(
      [0, 10].map(async (warm) => {
        const storage = countingStorage(new MemoryStorage());
        const bound = waiting().flow.with({ storage, secret, warm });
        const first = await bound.resume(token(await bound.run()), "a");
        await bound.resume(token(first.outcome), "b");
        return storage.counts;
      }),
    );
    expect(costs[1]?.appends).toBe(costs[0]?.appends);
    expect(costs[1]?.reads).toBe(costs[0]?.reads);
  });

  test("entries of another driver that come between its look and its lease: a new execution goes on", async () => {
    const on = { storage: new MemoryStorage(), secret };
    const { flow, seen } = waiting(1);
    // The other driver records the answer, and is stopped before the step that follows.
    const stop = new AbortController();
    const stopping = noting(on.storage);
    stopping.append = (request) => {
      if (request.batch.includes("suspend.resolved")) stop.abort();
      return on.storage.append(request);
    };
    const there = createApp({ ...on, storage: stopping, workflows: [flow], warm: 0 });
    let meanwhile: (() => Promise<unknown>) | null = null;
    const storage = noting(on.storage);
    storage.lease = async (...given) => {
      const first = meanwhile;
      meanwhile = null;
      await first?.();
      return on.storage.lease(...given);
    };
    const here = createApp({ ...on, storage, workflows: [flow] });
    const run = await here.start("waiting", undefined, { id: "r" });
    await run.result().catch(() => null);
    await there.resume(token(await run.outcome()), "a", { drive: false });
    meanwhile = () => there.advance("r", { signal: stop.signal });
    const outcome = await here.advance("r");
    expect(seen).toEqual({ passes: 3, bodies: 2, ends: 0 });
    await here.resume(token(outcome), "b", { drive: false });
    expect(await here.advance("r")).toMatchObject({ status: "completed", output: ["a", 2, "b"] });
    expect(seen).toEqual({ passes: 3, bodies: 2, ends: 1 });
  });

  test("as many as asked for, the one parked longest ago goes first", async () => {
    const { flow, seen } = waiting(1);
    const bound = flow.with({ storage: new MemoryStorage(), secret, warm: 2 });
    const parked = [await bound.run(), await bound.run(), await bound.run()];
    expect(seen.passes).toBe(3);
    await bound.resume(token(parked[2]), "a");
    await bound.resume(token(parked[1]), "a");
    expect(seen.passes).toBe(3);
    await bound.resume(token(parked[0]), "a");
    expect(seen.passes).toBe(4);
  });

  test("none with a world of one's own, or when told so", async () => {
    const on = lab();
    const { flow, seen } = waiting(1);
    const bound = flow.with(on);
    await on.world.run(bound.resume(token(await on.world.run(bound.run())), "a"));
    expect(seen.passes).toBe(2);
    const cold = flow.with({ storage: new MemoryStorage(), secret, warm: 0 });
    await cold.resume(token(await cold.run()), "a");
    expect(seen.passes).toBe(4);
  });

  test("that another process drove on is read and replayed from the start", async () => {
    const storage = new MemoryStorage();
    const { flow, seen } = waiting(3);
    const here = flow.with({ storage, secret });
    const there = flow.with({ storage, secret });
    const first = await there.resume(token(await here.run(undefined, { id: "r" })), "a");
    expect(seen.passes).toBe(2);
    const second = await here.resume(token(first.outcome), "b");
    expect(second.outcome).toMatchObject({ status: "completed", output: ["a", 4, "b"] });
    expect(seen).toEqual({ passes: 3, bodies: 4, ends: 1 });
  });

  test("that another process drove on, and that is only advanced, is replayed from the start, too", async () => {
    const storage = new MemoryStorage();
    const { flow, seen } = waiting(3);
    const here = createApp({ workflows: [flow], storage, secret });
    const there = createApp({ workflows: [flow], storage, secret });
    await here.start("waiting", undefined, { id: "r", drive: false });
    const parked = await here.advance("r");
    expect((await there.resume(token(parked), "a", { drive: false })).status).toBe("accepted");
    const middle = await there.advance("r");
    expect((await there.resume(token(middle), "b", { drive: false })).status).toBe("accepted");
    expect(await here.advance("r")).toMatchObject({ status: "completed", output: ["a", 4, "b"] });
    expect(seen).toEqual({ passes: 3, bodies: 4, ends: 1 });
  });

  test("an answer that was only delivered is seen by the life that waits", async () => {
    const storage = new MemoryStorage();
    const { flow, seen } = waiting(3);
    const app = createApp({ workflows: [flow], storage, secret });
    const parked = await flow.with({ storage, secret }).run(undefined, { id: "r" });
    // The app has not driven it yet: its first advance replays, the next goes on where that one stood.
    expect((await app.resume(token(parked), "a", { drive: false })).status).toBe("accepted");
    const middle = await app.advance("r");
    expect(seen.passes).toBe(2);
    expect((await app.resume(token(middle), "b", { drive: false })).status).toBe("accepted");
    expect(await app.advance("r")).toMatchObject({ status: "completed", output: ["a", 4, "b"] });
    expect(seen).toEqual({ passes: 2, bodies: 4, ends: 1 });
  });

  test("two answers at once: one life, each wait answered once", async () => {
    const storage = new MemoryStorage();
    let passes = 0;
    const flow = durable(
      "both",
      async (ctx) => {
        passes += 1;
        const all = await ctx.parallel({ a: (c) => c.suspend("x"), b: (c) => c.suspend("x") });
        return [all.a, all.b];
      },
      { storage, secret },
    );
    const parked = await flow.run(undefined, { id: "r" });
    if (parked.status !== "suspended") throw new Error("not parked");
    const results = await Promise.all(
      parked.waiting.flatMap(({ token: one, key }) => [flow.resume(one, key), flow.resume(one, key)]),
    );
    expect(results.map(({ status }) => status).toSorted()).toEqual([
      "accepted",
      "accepted",
      "duplicate",
      "duplicate",
    ]);
    expect(await flow.get("r").result()).toEqual(["parallel[a]/x", "parallel[b]/x"]);
    expect(passes).toBeGreaterThan(0);
  });

  test("cancelled, deleted or refused meanwhile: said as ever", async () => {
    const storage = new MemoryStorage();
    const { flow, seen } = waiting(1);
    const bound = flow.with({ storage, secret });
    const app = createApp({ workflows: [flow], bind: false, storage, secret });
    const [one, two, three] = [await bound.run(), await bound.run(), await bound.run()];
    await app.cancel(one.runId);
    expect(await bound.resume(token(one), "a")).toMatchObject({ status: "expired" });
    await app.delete(two.runId);
    expect(await bound.resume(token(two), "a")).toEqual({ status: "unknown", repeated: false });
    const forged = token(three).slice(0, -1) + (token(three).endsWith("a") ? "b" : "a");
    expect((await bound.resume(forged, "a")).status).toBe("unknown");
    const bad = flow.with({ storage, secret: "another secret for tests" });
    expect((await bad.resume(token(three), "a")).status).toBe("unknown");
    expect(seen.passes).toBe(3);
    await bound.resume(token(three), "a");
    expect(seen.passes).toBe(3);
  });

  test("an invalid answer leaves the life as it was", async () => {
    const storage = new MemoryStorage();
    let passes = 0;
    const schema = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value: unknown) =>
          typeof value === "number" ? { value } : { issues: [{ message: "no number" }] },
        types: { input: 0, output: 0 },
      },
    } as const;
    const flow = durable(
      "checked",
      async (ctx) => {
        passes += 1;
        return (await ctx.suspend("n", { schema })) + 1;
      },
      { storage, secret },
    );
    const parked = await flow.run();
    expect((await flow.resume(token(parked), "x")).status).toBe("invalid");
    expect((await flow.resume(token(parked), 1)).outcome).toMatchObject({ status: "completed", output: 2 });
    expect(passes).toBe(1);
  });

  test("a foreign wait that ends later wakes the same life", async () => {
    const storage = new MemoryStorage();
    let passes = 0;
    let letGo = (): void => {};
    const foreign = new Promise<void>((resolve) => (letGo = resolve));
    const flow = durable(
      "foreign",
      async (ctx) => {
        passes += 1;
        const side = foreign.then(() => ctx.step("side", () => "side"));
        return [await ctx.suspend("ok"), await side];
      },
      { storage, secret },
    );
    const parked = await flow.run(undefined, { id: "r" });
    const answered = flow.resume(token(parked), "yes");
    letGo();
    await answered;
    expect(await flow.get("r").result()).toEqual(["yes", "side"]);
    // The answer replays the run beside the life that continues; whichever is late is replayed once more.
    expect(passes).toBeLessThan(4);
  });

  test("a sleep that is over is woken without a replay", async () => {
    const on = lab();
    let passes = 0;
    const flow = durable("nap", async (ctx) => {
      passes += 1;
      await ctx.step("a", () => 1);
      await ctx.sleep("2 hours");
      return ctx.step("b", () => 2);
    });
    const app = createApp({ workflows: [flow], ...on, warm: 5 });
    const begun = flow.with({ ...on, patience: 0 });
    await on.world.run(begun.run(undefined, { id: "r" }));
    expect(passes).toBe(1);
    await on.world.run(pause(on.world, 10_000));
    await on.world.run(app.advance("r"));
    await on.world.run(pause(on.world, 7_200_000));
    expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "completed", output: 2 });
    expect(passes).toBe(2);
  });
});
