/**
 * `list` with `dueAt`: runs that need a driver and have none. Sweeps find their work with it. Proven in
 * test/conformance.test.ts.
 */

import { expect } from "vitest";
import { request, type Checks } from "./subject.ts";

export const dueChecks: Checks = {
  "due runs come when their time has come, longest due first": async (subject) => {
    const { clock } = subject;
    const at = clock.now + 1_000;
    const later = await subject.create({ status: "suspended", wakeAt: at + 30 });
    const middle = await subject.create({ status: "suspended", wakeAt: at + 20 });
    const first = await subject.create({ status: "running", wakeAt: at });
    await subject.create({ status: "suspended", wakeAt: null });
    clock.now = at - 1;
    expect(await subject.due()).toEqual([]);
    clock.now = at;
    expect(await subject.due()).toEqual([first.locator]);
    clock.now = at + 29;
    expect(await subject.due()).toEqual([first.locator, middle.locator]);
    clock.now = at + 30;
    expect(await subject.due()).toEqual([first.locator, middle.locator, later.locator]);
    expect(await subject.due({ limit: 2 })).toEqual([first.locator, middle.locator]);
  },

  "due runs are given with their heads": async (subject) => {
    const head = await subject.create({ label: "x", steps: 4, status: "suspended" });
    expect((await subject.list({ dueAt: subject.clock.now })).runs).toEqual([head]);
  },

  "due runs can be filtered": async (subject) => {
    const loan = await subject.create({ workflow: "loan" });
    const deploy = await subject.create({ workflow: "deploy", status: "suspended" });
    expect(await subject.due({ workflow: "deploy" })).toEqual([deploy.locator]);
    expect(await subject.due({ status: "running" })).toEqual([loan.locator]);
    expect(await subject.due({ status: "running", workflow: "deploy" })).toEqual([]);
  },

  "due runs of several workflows come in one order": async (subject) => {
    const { clock } = subject;
    const made: string[] = [];
    const workflows = ["loan", "deploy", "it's", "mail"];
    for (let n = 0; n < 24; n++) {
      const workflow = workflows[(n * 7) % 4] ?? "";
      const { locator } = await subject.create({ workflow, wakeAt: 1_000 + (n >> 2) });
      if (workflow !== "mail") made.push(locator);
    }
    const asked = workflows.toReversed().slice(1);
    expect(await subject.due({ workflow: asked })).toEqual(made);
    expect(await subject.due({ workflow: [...asked, ...asked, "unknown"] }), "each run once").toEqual(made);
    expect(await subject.due({ workflow: asked, limit: 5 })).toEqual(made.slice(0, 5));
    const found = await subject.pages({ dueAt: clock.now, workflow: asked, limit: 5 }, async ({ runs }) => {
      for (const { locator } of runs) await subject.storage.lease(locator, "a", 60_000);
    });
    expect(found.map(({ locator }) => locator)).toEqual(made);
    expect(await subject.due({ workflow: ["unknown"] })).toEqual([]);
    expect(await subject.due({ workflow: [] }), "of no workflow").toEqual([]);
  },

  "a run that has ended is never due": async (subject) => {
    const { storage, clock } = subject;
    for (const status of ["completed", "failed", "cancelled"] as const) {
      const head = await subject.create({}, { owner: "a", ttlMs: 1_000 });
      await storage.append(request({ ...head, status, wakeAt: null }, 1, null));
    }
    clock.now += 10 ** 9;
    expect(await subject.due()).toEqual([]);
  },

  "a run with a live driver is not due until the lease ends": async (subject) => {
    const { storage, clock } = subject;
    const taken = await subject.create();
    const riding = await subject.create({}, { owner: "b", ttlMs: 2_000 });
    const free = await subject.create();
    await storage.lease(taken.locator, "a", 1_000);
    const start = clock.now;
    expect(await subject.due()).toEqual([free.locator]);
    clock.now = start + 999;
    expect(await subject.due()).toEqual([free.locator]);
    clock.now = start + 1_000;
    expect(await subject.due()).toEqual([taken.locator, free.locator]);
    clock.now = start + 2_000;
    expect(await subject.due()).toEqual([taken.locator, riding.locator, free.locator]);
  },

  "a lease ends by the storage's clock, not by the time that is asked for": async (subject) => {
    const { storage, clock } = subject;
    const head = await subject.create();
    await storage.lease(head.locator, "a", 1_000);
    // A caller whose clock is ahead does not expire another driver's lease.
    expect(await subject.due({ dueAt: clock.now + 60_000 })).toEqual([]);
    await storage.release(head.locator, "a", 5_000);
    expect(await subject.due({ dueAt: clock.now + 60_000 })).toEqual([]);
  },

  "a run whose lease was given back is due again": async (subject) => {
    const { storage } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 60_000 });
    expect(await subject.due()).toEqual([]);
    await storage.release(head.locator, "a");
    expect(await subject.due()).toEqual([head.locator]);
  },

  "a quiet run is not due until its time": async (subject) => {
    const { storage, clock } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 60_000 });
    await storage.release(head.locator, "a", 5_000);
    expect(await subject.due()).toEqual([]);
    expect(await subject.locators(), "it is listed all the same").toEqual([head.locator]);
    clock.now += 4_999;
    expect(await subject.due()).toEqual([]);
    clock.now += 1;
    expect(await subject.due()).toEqual([head.locator]);
  },

  "a quiet run can be leased, and given back without quiet": async (subject) => {
    const { storage } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 60_000 });
    await storage.release(head.locator, "a", 5_000);
    expect(await storage.lease(head.locator, "b", 1_000)).not.toBeNull();
    await storage.release(head.locator, "b");
    expect(await subject.due()).toEqual([head.locator]);
  },

  "an append ends the quiet": async (subject) => {
    const { storage } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 60_000 });
    await storage.release(head.locator, "a", 5_000);
    await storage.append(request(head, 1));
    expect(await subject.due()).toEqual([head.locator]);
  },

  "due runs are paged, also when those of the page before were taken": async (subject) => {
    const { storage, clock } = subject;
    const made: string[] = [];
    for (let n = 0; n < 12; n++) made.push((await subject.create({ wakeAt: 1_000 + (n >> 1) })).locator);
    const found = await subject.pages({ dueAt: clock.now, limit: 5 }, async ({ runs }) => {
      for (const { locator } of runs) await storage.lease(locator, "a", 60_000);
      await subject.create();
    });
    const seen = found.map(({ locator }) => locator);
    expect(seen.filter((locator) => made.includes(locator))).toEqual(made);
    expect(new Set(seen).size, "none twice").toBe(seen.length);
  },
};
