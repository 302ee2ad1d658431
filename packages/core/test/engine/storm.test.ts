import { createApp, createWorker, durable } from "@durable/core";
import { faultyStorage, seeded } from "@durable/testing";
import { describe, expect, test } from "vitest";
import {
  hooked,
  lab,
  outputOf,
  pause,
  secret,
  sqliteLab,
  tokenOf,
  type Lab,
} from "../support/behaviour-lab.ts";

function counted() {
  const bodies = { before: 0, after: 0 };
  const flow = durable("approval", async (ctx) => {
    await ctx.step("before", () => ++bodies.before);
    const answer = await ctx.suspend<string>("ok");
    return ctx.step("after", () => {
      bodies.after += 1;
      return answer;
    });
  });
  return { bodies, flow };
}

describe.each<[string, () => Lab]>([
  ["memory", lab],
  ["SQLite", sqliteLab],
])("on %s", (_, open) => {
  test("H29 of 64 concurrent resumes one is accepted, and what follows runs once", async () => {
    const { world, storage } = open();
    const { bodies, flow } = counted();
    const bound = flow.with({ storage, world, secret });
    const token = tokenOf(await world.run(bound.run(undefined, { id: "r" })));
    const sent = Array.from({ length: 64 }, (__, i) => bound.resume(token, `answer ${i}`));
    const results = await world.run(Promise.all(sent));
    expect(Map.groupBy(results, ({ status }) => status).get("accepted")).toHaveLength(1);
    expect(Map.groupBy(results, ({ status }) => status).get("duplicate")).toHaveLength(63);
    const winner = results.findIndex(({ status }) => status === "accepted");
    expect(outputOf(await bound.get("r").outcome())).toBe(`answer ${winner}`);
    expect(bodies).toEqual({ before: 1, after: 1 });
  });

  test("H24 of 64 concurrent starts with one id one runs the bodies", async () => {
    const { world, storage } = open();
    const { bodies, flow } = counted();
    const bound = flow.with({ storage, world, secret });
    const outcomes = await world.run(
      Promise.all(Array.from({ length: 64 }, () => bound.run(undefined, { id: "r" }))),
    );
    for (const { status } of outcomes) expect(["running", "suspended"]).toContain(status);
    expect((await storage.list()).runs).toHaveLength(1);
    await world.run(bound.resume(tokenOf(await bound.get("r").outcome()), "yes"));
    expect(bodies).toEqual({ before: 1, after: 1 });
    const later = await world.run(
      Promise.all(Array.from({ length: 64 }, () => bound.run(undefined, { id: "r" }))),
    );
    for (const outcome of later) expect(outcome).toMatchObject({ output: "yes", recorded: true });
    expect(bodies).toEqual({ before: 1, after: 1 });
  });
});

test("H24 64 starts, eight sweeps and three workers at the same instant: one run, one body of each step", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const on = lab(seed);
    const random = seeded(seed);
    const { bodies, flow } = counted();
    const slow = () => faultyStorage(on.storage, { world: on.world, latency: () => random.between(0, 9) });
    const app = () => createApp({ ...on, storage: slow(), workflows: [flow] });
    const starts = Array.from({ length: 64 }, () =>
      flow.with({ ...on, storage: slow() }).run(undefined, { id: "r" }),
    );
    const sweeps = Array.from({ length: 8 }, () => app().sweep());
    const workers = Array.from({ length: 3 }, () => createWorker(app()));
    const outcomes = await on.world.run(Promise.all(starts));
    await on.world.run(Promise.all(sweeps));
    for (const { status } of outcomes) expect(["running", "suspended"]).toContain(status);
    expect((await on.storage.list()).runs, `seed ${seed}`).toHaveLength(1);
    const parked = await flow
      .with({ ...on })
      .get("r")
      .outcome();
    await on.world.run(flow.with({ ...on }).resume(tokenOf(parked), "yes"));
    expect(bodies, `seed ${seed}`).toEqual({ before: 1, after: 1 });
    await on.world.run(Promise.all(workers.map((worker) => worker.stop())));
  }
});

const seeds = Array.from({ length: 30 }, (_, i) => i + 1);

/** Eight resumes through a slow storage, on a parked run. */
async function slowStorm(seed: number) {
  const { world, storage } = lab(seed);
  const { flow } = counted();
  const bound = flow.with({ storage, world, secret });
  const token = tokenOf(await world.run(bound.run(undefined, { id: "r" })));
  const random = seeded(seed);
  const slow = faultyStorage(storage, { world, latency: () => random.between(0, 20) });
  const senders = flow.with({ storage: slow, world, secret });
  const sent = Array.from({ length: 8 }, (_, i) => senders.resume(token, String(i)));
  const results = await world.run(Promise.allSettled(sent));
  await world.advance(10_000);
  return { results, outcome: await bound.get("r").outcome() };
}

test("H29 a run that was answered in a storm is driven on by one of the callers, without a sweep", async () => {
  for (const seed of seeds) {
    const { outcome } = await slowStorm(seed);
    expect(outcome.status, `seed ${seed}`).toBe("completed");
  }
});

test("H29 every loser of a storm reads duplicate, and none is asked to try again", async () => {
  for (const seed of seeds) {
    const { results } = await slowStorm(seed);
    const statuses = results.map((one) => (one.status === "fulfilled" ? one.value.status : one.reason));
    expect(
      statuses.filter((status) => status === "accepted"),
      `seed ${seed}`,
    ).toHaveLength(1);
    expect(
      statuses.filter((status) => status === "duplicate"),
      `seed ${seed}`,
    ).toHaveLength(7);
  }
});

test("H27 an answer that lands just after its driver parked is driven on by the resumer", async () => {
  for (let ms = 0; ms < 16; ms++) {
    const { world, storage } = lab();
    let token = "";
    const flow = durable("mailed", async (ctx) => {
      const wait = ctx.suspend<string>("ok");
      token = wait.token;
      await ctx.step("send", () => pause(world, 5));
      return wait;
    });
    const slow = () =>
      flow.with({ storage: faultyStorage(storage, { world, latency: () => 2 }), world, secret });
    const driving = slow().run(undefined, { id: "r" });
    const answering = pause(world, 5 + ms).then(() => slow().resume(token, "yes"));
    const [, result] = await world.run(Promise.all([driving, answering]));
    await world.advance(10_000);
    expect(result.status).toBe("accepted");
    const outcome = await flow.with({ storage, world, secret }).get("r").outcome();
    expect(outputOf(outcome), `answered after ${5 + ms} ms`).toBe("yes");
  }
});

test("H27 a resume beside a live driver is accepted though its replay takes longer than 100 ms", async () => {
  const { world, storage } = lab();
  let token = "";
  const flow = durable("long", async (ctx) => {
    for (let i = 0; i < 300; i++) await ctx.step("turn", () => i);
    const wait = ctx.suspend<string>("ok");
    token = wait.token;
    await ctx.step("work", () => pause(world, 20_000));
    return wait;
  });
  const slowReplay = { ...world, drain: () => pause(world, 1) };
  const driving = flow.with({ storage, world, secret }).run(undefined, { id: "r" });
  const answering = pause(world, 10_000).then(() =>
    flow.with({ storage, world: slowReplay, secret }).resume(token, "yes"),
  );
  const [outcome, result] = await world.run(Promise.all([driving, answering]));
  expect(result.status).toBe("accepted");
  expect(outputOf(outcome)).toBe("yes");
});

test("H27 a resume at every storage operation of a driver is consumed once, and the run ends", async () => {
  for (const moment of ["before", "after"] as const) {
    for (let at = 1; at <= 12; at++) {
      const { world, storage } = lab();
      const { bodies, flow } = counted();
      const plain = flow.with({ storage, world, secret });
      const token = tokenOf(
        await world.run(flow.with({ ...lab(), world, secret }).run(undefined, { id: "r" })),
      );
      const statuses: string[] = [];
      const watched = hooked(storage, async (_, now, index) => {
        if (now !== moment || index !== at) return;
        statuses.push((await plain.resume(token, "yes")).status);
      });
      await world.run(flow.with({ storage: watched, world, secret }).run(undefined, { id: "r" }));
      const before = await plain.get("r").outcome();
      if (before.status === "suspended") await world.run(plain.resume(token, "yes"));
      else await world.run(plain.run(undefined, { id: "r" }));
      const when = `${moment} operation ${at}: ${statuses.join()}`;
      expect(outputOf(await plain.get("r").outcome()), `resumed ${when}`).toBe("yes");
      expect(bodies.after, `resumed ${when}`).toBe(1);
    }
  }
});
