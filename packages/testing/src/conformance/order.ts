/**
 * The order in which due runs are listed and claimed: since when they are due, priorities, and keys that take turns.
 * Proven in test/conformance.test.ts.
 */

import type { RunHead } from "@durable/core";
import type { RunFlow } from "@durable/core/storage";
import { expect } from "vitest";
import { request, type Checks, type Subject } from "./subject.ts";

const quietMs = 5_000;

async function claimed(
  subject: Subject,
  more: { readonly limit?: number; readonly slots?: Readonly<Record<string, number>> } = {},
): Promise<string[]> {
  const claim = subject.optional("claim");
  const asked = { workflow: ["loan"], dueAt: subject.clock.now, limit: 100, quietMs, ...more };
  return (await claim(asked)).map(({ runId }) => runId);
}

const idsOf = async (subject: Subject): Promise<string[]> =>
  (await subject.list({ dueAt: subject.clock.now })).runs.map(({ runId }) => runId);

/** A run that is due since a number of milliseconds, at once or at a time. */
function dueFor(
  subject: Subject,
  runId: string,
  { ms, timed = false, flow }: { readonly ms: number; readonly timed?: boolean; readonly flow?: RunFlow },
): Promise<RunHead> {
  const dueSince = subject.clock.now - ms;
  return subject.create({
    runId,
    status: timed ? "suspended" : "running",
    wakeAt: timed ? dueSince : 0,
    dueSince,
    ...(flow !== undefined && { flow }),
  });
}

const time: Checks = {
  "order: runs come by the time since when they are due, whether they slept or not": async (subject) => {
    subject.clock.now += 100_000;
    await dueFor(subject, "new", { ms: 10 });
    await dueFor(subject, "slept", { ms: 500, timed: true });
    await dueFor(subject, "answered", { ms: 300 });
    await dueFor(subject, "old", { ms: 900 });
    const wanted = ["old", "slept", "answered", "new"];
    expect(await idsOf(subject)).toEqual(wanted);
    const { runs, next } = await subject.list({ dueAt: subject.clock.now, limit: 2 });
    const { runs: rest } = await subject.list({ dueAt: subject.clock.now, limit: 2, cursor: next });
    expect([...runs, ...rest].map(({ runId }) => runId)).toEqual(wanted);
    if (subject.storage.claim === undefined) return;
    expect(await claimed(subject, { limit: 3 })).toEqual(wanted.slice(0, 3));
    expect(await claimed(subject)).toEqual(["new"]);
  },

  "order: the time since when a run is due is kept as it was given": async (subject) => {
    const head = await dueFor(subject, "a", { ms: 10 });
    const parked: RunHead = { ...head, status: "suspended", wakeAt: 90_000, dueSince: 90_000 };
    await subject.storage.append(request(parked, 1, null));
    expect((await subject.storage.read(head.locator)).head).toMatchObject({ dueSince: 90_000 });
    await subject.storage.append(request({ ...head, dueSince: 7 }, 2));
    expect((await subject.list()).runs).toMatchObject([{ wakeAt: 0, dueSince: 7 }]);
  },
};

const priorities: Checks = {
  "order: a priority is so many seconds earlier": async (subject) => {
    expect(subject.limits).toBeDefined();
    subject.clock.now += 100_000;
    await dueFor(subject, "plain", { ms: 1_000 });
    await dueFor(subject, "urgent", { ms: 0, flow: { priority: 3 } });
    const slept = await dueFor(subject, "slept", { ms: 500, timed: true, flow: { priority: 1 } });
    await dueFor(subject, "late", { ms: 2_500, flow: { priority: -86_400 } });
    await dueFor(subject, "first", { ms: 0, timed: true, flow: { priority: 86_400 } });
    const wanted = ["first", "urgent", "slept", "plain", "late"];
    expect(await idsOf(subject)).toEqual(wanted);
    expect((await subject.list()).runs).toContainEqual(slept);
    expect(await claimed(subject, { limit: 2 })).toEqual(wanted.slice(0, 2));
    expect(await claimed(subject)).toEqual(wanted.slice(2));
  },

  "order: a run that sleeps is not taken before its time, whatever its priority": async (subject) => {
    expect(subject.limits).toBeDefined();
    subject.clock.now += 100_000;
    await dueFor(subject, "later", { ms: -5_000, timed: true, flow: { priority: 60 } });
    expect(await idsOf(subject)).toEqual([]);
    expect(await claimed(subject)).toEqual([]);
    subject.clock.now += 5_000;
    expect(await claimed(subject)).toEqual(["later"]);
  },
};

const fairness: Checks = {
  "order: keys of `fair` take turns, and a key alone gets everything": async (subject) => {
    expect(subject.limits).toBeDefined();
    subject.clock.now += 100_000;
    for (let n = 0; n < 12; n++)
      await dueFor(subject, `large-${n}`, { ms: 9_000 - n, flow: { fair: "large" } });
    for (let n = 0; n < 2; n++) await dueFor(subject, `small-${n}`, { ms: 10 - n, flow: { fair: "small" } });
    await dueFor(subject, "none", { ms: 1 });
    const first = await claimed(subject, { limit: 6 });
    expect(first.toSorted()).toEqual(["large-0", "large-1", "large-2", "none", "small-0", "small-1"]);
    expect(await claimed(subject)).toEqual(Array.from({ length: 9 }, (_, n) => `large-${n + 3}`));
  },

  "order: turns go on with the next claim, and a weight is the length of a turn": async (subject) => {
    expect(subject.limits).toBeDefined();
    subject.clock.now += 100_000;
    for (const [fair, weight] of Object.entries({ a: 1, b: 3 }))
      for (let n = 0; n < 8; n++)
        await dueFor(subject, `${fair}-${n}`, { ms: 900 - n, flow: { fair, ...(weight > 1 && { weight }) } });
    const taken: string[] = [];
    for (let n = 0; n < 8; n++) taken.push(...(await claimed(subject, { limit: 1 })));
    expect(taken.map((runId) => runId[0]).join("")).toMatch(/^(abbbabbb|bbbabbba)$/);
  },

  "order: a key of `fair` whose slots are taken leaves its turn to others": async (subject) => {
    const { storage, limits } = subject;
    expect(limits).toBeDefined();
    subject.clock.now += 100_000;
    const driven = await dueFor(subject, "driven", { ms: 9_999, flow: { fair: "a", slot: "x" } });
    await storage.lease(driven.locator, "driver", 60_000, { loan: 1 });
    for (let n = 0; n < 20; n++)
      await dueFor(subject, `a-${n}`, { ms: 900 - n, flow: { fair: "a", slot: "x" } });
    await dueFor(subject, "b", { ms: 5, flow: { fair: "b", slot: "y" } });
    await dueFor(subject, "a-free", { ms: 4, flow: { fair: "a", slot: "z" } });
    const slots = { loan: 1 };
    expect((await claimed(subject, { slots })).toSorted()).toEqual(["a-free", "b"]);
    await storage.release(driven.locator, "driver", 60_000);
    expect(await claimed(subject, { slots })).toEqual(["a-0"]);
  },

  "order: many runs of a slot that is taken do not hide those behind them": async (subject) => {
    const { storage } = subject;
    expect(subject.limits).toBeDefined();
    subject.clock.now += 100_000;
    const driven = await dueFor(subject, "driven", { ms: 9_999, flow: { slot: "full" } });
    await storage.lease(driven.locator, "driver", 60_000, { loan: 1 });
    for (let n = 0; n < 260; n++)
      await dueFor(subject, `full-${n}`, { ms: 5_000 - n, flow: { slot: "full" } });
    for (const slot of ["a", "z"])
      for (let n = 0; n < 2; n++) await dueFor(subject, `${slot}-${n}`, { ms: 50 - n, flow: { slot } });
    expect((await claimed(subject, { limit: 2, slots: { loan: 1 } })).toSorted()).toEqual(["a-0", "z-0"]);
  },
};

export const orderChecks: Checks = { ...time, ...priorities, ...fairness };
