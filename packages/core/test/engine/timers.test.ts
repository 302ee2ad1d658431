import { createApp, createWorker, durable, type Context, type Duration } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { countingStorage, faultyStorage, seeded } from "@durable/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { kindsOf, lab, outputOf, pause, secret, tokenOf } from "../support/behaviour-lab.ts";
import { batchesOf, replayOf, runOf } from "../support/behaviour-lives.ts";
import { record } from "../support/worker-runs.ts";

test("H37 a wrong clock at the sender of an answer does not move ctx.now() a year ahead", async () => {
  const { world, storage } = lab();
  const flow = durable("clock", async (ctx) => {
    await ctx.suspend("ok");
    return ctx.now();
  });
  const token = tokenOf(await world.run(flow.with({ storage, world, secret }).run(undefined, { id: "r" })));
  const ahead = { ...world, now: () => world.now() + 365 * 86_400_000 };
  const app = createApp({ workflows: [flow], storage, world: ahead, secret });
  expect((await world.run(app.resume(token, 1, { drive: false }))).status).toBe("accepted");
  const outcome = await world.run(flow.with({ storage, world, secret }).run(undefined, { id: "r" }));
  expect(outputOf(outcome)).toBeLessThan(world.now() + 86_400_000);
});

test("H40 an answer that is in the journal before the timer fires wins the race against it", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const { world, storage } = lab(seed);
    const random = seeded(seed);
    let token = "";
    const flow = durable("either", (ctx) =>
      ctx.race({
        answer: (c) => {
          const wait = c.suspend("ok");
          token = wait.token;
          return wait;
        },
        timer: (c) => c.sleep(50),
      }),
    );
    const slow = () => faultyStorage(storage, { world, latency: () => random.between(0, 6) });
    const app = createApp({ workflows: [flow], storage: slow(), world, secret });
    const answering = pause(world, random.between(30, 50)).then(() =>
      app.resume(token, "yes", { drive: false }),
    );
    const running = flow.with({ storage: slow(), world, secret }).run(undefined, { id: "r" });
    const [outcome] = await world.run(Promise.all([running, answering]));
    const entries = await flow.with({ storage, world, secret }).get("r").entries();
    const first = entries.find(({ kind }) => kind === "suspend.answered" || kind === "sleep.fired");
    const expected = first?.kind === "sleep.fired" ? "timer" : "answer";
    expect(outputOf(outcome), `seed ${seed}`).toMatchObject({ name: expected });
  }
});

test("H40 an answer and a timer in one millisecond: the journal decides, replay agrees, and the loser is closed", async () => {
  const winners = new Set<string>();
  for (let seed = 1; seed <= 60; seed++) {
    const on = lab(seed);
    const random = seeded(seed);
    let token = "";
    const flow = durable("either", async (ctx) => {
      const first = await ctx.race({
        answer: (c) => {
          const wait = c.suspend("ok");
          token = wait.token;
          return wait;
        },
        timer: (c) => c.sleep(50),
      });
      return [first.name, ctx.now(), await ctx.step("after", () => "after")];
    });
    const slow = () => faultyStorage(on.storage, { world: on.world, latency: () => random.between(0, 2) });
    const app = createApp({ workflows: [flow], ...on, storage: slow() });
    const answering = pause(on.world, 50).then(() => app.resume(token, "yes", { drive: false }));
    const running = flow.with({ ...on, storage: slow() }).run(undefined, { id: "r" });
    const [outcome, { status }] = await on.world.run(Promise.all([running, answering]));
    const [winner] = outputOf(outcome) as string[];
    winners.add(winner ?? "");
    expect(outputOf(await replayOf(on, flow)), `seed ${seed}`).toEqual(outputOf(outcome));
    const late = await on.world.run(app.resume(token, "again"));
    const expected =
      status === "accepted" && winner === "answer"
        ? "duplicate"
        : expect.stringMatching(/^(expired|duplicate)$/);
    expect(late, `seed ${seed}`).toMatchObject({ status: expected, outcome: { status: "completed" } });
  }
  expect(winners, "both happened").toEqual(new Set(["answer", "timer"]));
});

test("H37 workers five minutes ahead and behind: one fire a timer, not before its recorded time by the clock of its worker, no loop", async () => {
  const on = lab();
  const skewed = (ms: number) => ({ ...on.world, now: () => on.world.now() + ms });
  const firing: number[] = [];
  const flow = durable("nap", async (ctx) => {
    for (let i = 0; i < 4; i++) {
      await ctx.sleep("1h");
      await ctx.step("up", () => firing.push(on.world.now()));
    }
    return "up";
  });
  const counted = countingStorage(on.storage);
  const ids = Array.from({ length: 5 }, (_, n) => `r${n}`);
  for (const id of ids) await record(on, id, { workflow: "nap" });
  const stops: string[] = [];
  const workers = [300_000, 0, -300_000].map((ms) =>
    createWorker(createApp({ ...on, world: skewed(ms), storage: counted, workflows: [flow] }), {
      interval: "1m",
      onStop: ({ status }) => void stops.push(status),
    }),
  );
  await on.world.advance(6 * hour);
  await on.world.run(Promise.all(workers.map((worker) => worker.stop())));
  expect(stops.filter((status) => status === "completed")).toHaveLength(ids.length);
  expect(firing, "one body after each of four sleeps").toHaveLength(ids.length * 4);
  // Five stops, and at most one extra check for each of them, whatever the clocks.
  expect(counted.counts.leases).toBeLessThanOrEqual(ids.length * 5 * 2);
  for (const id of ids) {
    const entries = await flow
      .with({ ...on })
      .get(id)
      .entries();
    const opened = entries.filter((entry) => entry.kind === "sleep.opened");
    const fired = entries.filter((entry) => entry.kind === "sleep.fired");
    expect(fired).toHaveLength(4);
    for (const [n, entry] of fired.entries())
      expect(entry.at, `${id}, sleep ${n}`).toBeGreaterThanOrEqual(opened[n]!.until);
  }
});

const hour = 3_600_000;
const day = 24 * hour;
const napping = (length: string | number | Date) =>
  durable("nap", async (ctx) => {
    await ctx.sleep(length as Duration | Date);
    return ctx.now();
  });

test("H36 a wake that comes early appends nothing, and the run wakes on time", async () => {
  const on = lab();
  const flow = napping("1h");
  const began = on.world.now();
  expect(await runOf(on, flow)).toMatchObject({ status: "suspended", waiting: [], wakeAt: began + hour });
  const app = createApp({ workflows: [flow], ...on });
  const parked = await batchesOf(on);
  for (let i = 0; i < 3; i++) {
    await on.world.advance(19 * 60_000);
    expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "suspended", wakeAt: began + hour });
    expect((await on.world.run(app.sweep())).outcomes).toEqual([]);
  }
  expect(await batchesOf(on)).toEqual(parked);
  await on.world.advance(3 * 60_000);
  expect((await on.world.run(app.sweep())).outcomes.map(outputOf)).toEqual([began + hour]);
});

test.each([
  ["back an hour", -hour],
  ["ahead an hour", hour],
  ["frozen eight hours", 8 * hour],
])("H38 a clock that goes %s fires a timer once, and its deadline is never rewritten", async (_, jump) => {
  for (const patience of ["1m", "2d"] as const) {
    const on = lab();
    let offset = 0;
    const world = { ...on.world, now: () => on.world.now() + offset };
    const flow = durable("jumpy", async (ctx) => {
      await ctx.sleep("30m");
      return ctx.step("after", () => world.now());
    }).with({ ...on, world, patience });
    const app = createApp({ workflows: [flow], bind: false, ...on, world, patience });
    const until = world.now() + hour / 2;
    const driving = flow.run(undefined, { id: "r" });
    await on.world.advance(10 * 60_000);
    offset = jump;
    await on.world.advance(3 * hour);
    await on.world.run(driving);
    await on.world.run(app.sweep());
    const outcome = await app.get("r").outcome();
    const kinds = await kindsOf(app.get("r"));
    expect(outputOf(outcome), `${patience} ${kinds.join()}`).toBeGreaterThanOrEqual(until);
    expect(kinds.filter((kind) => kind === "sleep.fired sleep")).toHaveLength(1);
    const opened = (await app.get("r").entries()).filter(({ kind }) => kind === "sleep.opened");
    expect(opened).toMatchObject([{ until }]);
  }
});

test.each([
  ["30 days", 30 * day],
  ["1 year", 365.25 * day],
  ["3 years", 3 * 365.25 * day],
])("H39 a sleep of %s is not a millisecond early, held in memory or parked", async (length, ms) => {
  const on = lab();
  const began = on.world.now();
  // With a short lease the three years would be ten million heartbeats.
  const patient = napping(length).with({ ...on, patience: "9y", lease: "9y" });
  expect(outputOf(await on.world.run(patient.run(undefined, { id: "sat-out" })))).toBe(began + ms);
  const parkedAt = on.world.now();
  await runOf(on, napping(length));
  const app = createApp({ workflows: [napping(length)], ...on });
  await on.world.advance(ms - 1);
  expect((await on.world.run(app.sweep())).outcomes).toEqual([]);
  await on.world.advance(1);
  expect((await on.world.run(app.sweep())).outcomes.map(outputOf)).toEqual([parkedAt + ms]);
});

test("H39 the system's timer walks past the longest setTimeout, and can be called off there", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let fired = 0;
  systemWorld.timer(30 * day, () => (fired += 1));
  const cancel = systemWorld.timer(60 * day, () => (fired += 10));
  vi.advanceTimersByTime(30 * day - 1);
  expect(fired).toBe(0);
  vi.advanceTimersByTime(1);
  expect(fired).toBe(1);
  cancel();
  vi.advanceTimersByTime(365 * day);
  expect(fired).toBe(1);
});

test("H39 a thousand timers of one millisecond each fire once", async () => {
  const on = lab();
  const flow = durable("many", async (ctx) => {
    const branches = Array.from({ length: 1_000 }, () => (c: Context) => c.sleep("1h"));
    return (await ctx.parallel(branches)).length;
  }).with({ ...on, patience: "2h" });
  expect(outputOf(await on.world.run(flow.run(undefined, { id: "r" })))).toBe(1_000);
  const fired = (await kindsOf(flow.get("r"))).filter((kind) => kind.startsWith("sleep.fired"));
  expect(new Set(fired).size).toBe(1_000);
  expect(fired).toHaveLength(1_000);
});

test("a sleep within the driver's patience is held in memory, a longer one is parked and swept when due", async () => {
  const on = lab();
  const began = on.world.now();
  expect(outputOf(await runOf(on, napping("60s")))).toBe(began + 60_000);
  const longer = napping("61s").with({ ...on });
  const parked = await on.world.run(longer.run(undefined, { id: "r2" }));
  expect(parked).toMatchObject({ status: "suspended", waiting: [], wakeAt: began + 121_000 });
  expect(on.world.now()).toBe(began + 60_000);
  expect((await on.storage.list({ dueAt: began + 120_999 })).runs).toEqual([]);
  expect((await on.storage.list({ dueAt: began + 121_000 })).runs).toMatchObject([{ runId: "r2" }]);
  const edge = napping("1s").with({ ...on, patience: 0 });
  expect(await on.world.run(edge.run(undefined, { id: "r3" }))).toMatchObject({ status: "suspended" });
});

test("a sleep until a Date ends at it, and at once where it has passed", async () => {
  const on = lab();
  const began = on.world.now();
  const target = new Date(began + 90_000);
  expect(await runOf(on, napping(target))).toMatchObject({ status: "suspended", wakeAt: began + 90_000 });
  await on.world.advance(90_000);
  expect(outputOf(await runOf(on, napping(target)))).toBe(began + 90_000);
  const past = napping(new Date(0)).with({ ...on });
  expect(outputOf(await on.world.run(past.run(undefined, { id: "r2" })))).toBe(on.world.now());
  const never = napping(new Date(Number.NaN)).with({ ...on });
  expect(await on.world.run(never.run(undefined, { id: "r3" }))).toMatchObject({
    status: "failed",
    error: { code: "invalid-options" },
  });
});

test("a sleep whose length was changed while the run was parked diverges, and goes on when put back", async () => {
  const on = lab();
  await runOf(on, napping("1h"));
  const parked = await batchesOf(on);
  const blocked = await runOf(on, napping("2h"));
  expect(blocked).toMatchObject({
    status: "blocked",
    error: { code: "diverged", details: { key: "sleep" } },
  });
  expect((blocked as { error: Error }).error.message).toMatch(/3600000 ms.*7200000 ms/);
  expect(await batchesOf(on)).toEqual(parked);
  await on.world.advance(hour);
  expect(outputOf(await runOf(on, napping("60 minutes")))).toBe(on.world.now());
});
