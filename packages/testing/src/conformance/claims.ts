/**
 * `claim`: shares due runs between the workers of a fleet. Each run goes to one of them for a time, and
 * workflows take turns. Proven in test/conformance.test.ts.
 */

import type { RunHead, Storage } from "@durable/core";
import type { ClaimRequest } from "@durable/core/storage";
import { expect } from "vitest";
import { request, type Checks, type Subject } from "./subject.ts";

const quietMs = 5_000;

function claimOf(subject: Subject, storage: Storage = subject.storage) {
  subject.optional("claim");
  return async (changes: Partial<ClaimRequest> = {}): Promise<readonly RunHead[]> => {
    const defaults = { workflow: ["loan"], dueAt: subject.clock.now, limit: 100, quietMs };
    return (await storage.claim?.({ ...defaults, ...changes })) ?? [];
  };
}

const locatorsOf = (runs: readonly RunHead[]): string[] => runs.map(({ locator }) => locator);

const taking: Checks = {
  "claim takes due runs with their heads, longest due first": async (subject) => {
    const claim = claimOf(subject);
    const at = subject.clock.now + 1_000;
    const second = await subject.create({ status: "suspended", wakeAt: at + 5, label: "x", steps: 4 });
    const first = await subject.create({ wakeAt: at });
    const third = await subject.create({ wakeAt: at + 5 });
    subject.clock.now = at - 1;
    expect(await claim()).toEqual([]);
    subject.clock.now = at + 5;
    expect(await claim()).toEqual([first, second, third]);
    expect((await subject.storage.read(first.locator)).length, "nothing was appended").toBe(1);
  },

  "claim takes at most as many as it is asked for": async (subject) => {
    const claim = claimOf(subject);
    const made: string[] = [];
    for (let n = 0; n < 7; n++) made.push((await subject.create()).locator);
    expect(await claim({ limit: 0 })).toEqual([]);
    expect(locatorsOf(await claim({ limit: 3 }))).toEqual(made.slice(0, 3));
    expect(locatorsOf(await claim({ limit: 3 }))).toEqual(made.slice(3, 6));
    expect(locatorsOf(await claim({ limit: 3 }))).toEqual(made.slice(6));
    expect(await claim({ limit: 3 })).toEqual([]);
  },

  "claim takes no run that has a driver, is quiet, has ended, was deleted or waits": async (subject) => {
    const claim = claimOf(subject);
    const { storage, clock } = subject;
    await subject.create({}, { owner: "a", ttlMs: 60_000 });
    const quiet = await subject.create({}, { owner: "a", ttlMs: 60_000 });
    await storage.release(quiet.locator, "a", quietMs);
    const ended = await subject.create();
    await storage.append(request({ ...ended, status: "completed", wakeAt: null }, 1, null));
    const gone = await subject.create();
    await storage.delete(gone.locator);
    await subject.create({ status: "suspended", wakeAt: clock.now + 100_000 });
    await subject.create({ status: "suspended", wakeAt: null });
    await subject.create({ workflow: "deploy" });
    const crashed = await subject.create({}, { owner: "b", ttlMs: 100 });
    clock.now += 100;
    expect(locatorsOf(await claim())).toEqual([crashed.locator]);
  },

  "claim ends leases by the storage's clock, not by the time that is asked for": async (subject) => {
    const claim = claimOf(subject);
    await subject.create({}, { owner: "a", ttlMs: 1_000 });
    expect(await claim({ dueAt: subject.clock.now + 60_000 })).toEqual([]);
  },

  "claim gives workflows their turns": async (subject) => {
    const claim = claimOf(subject);
    for (let n = 0; n < 12; n++) await subject.create({ workflow: "loan", wakeAt: 1_000 });
    for (let n = 0; n < 3; n++) await subject.create({ workflow: "it's" });
    await subject.create({ workflow: "mail" });
    const workflow = ["loan", "unknown", "it's", "loan"];
    const taken = await claim({ workflow, limit: 6 });
    expect(taken.map((run) => run.workflow).toSorted()).toEqual([
      ...Array(3).fill("it's"),
      ...Array(3).fill("loan"),
    ]);
    expect(
      (await claim({ workflow, limit: 6 })).map((run) => run.workflow),
      "the rest",
    ).toEqual(Array(6).fill("loan"));
    expect(await claim({ workflow: [] }), "of no workflow").toEqual([]);
  },

  "claim gives workflows their turns, also one run at a time": async (subject) => {
    const claim = claimOf(subject);
    for (let n = 0; n < 12; n++) await subject.create({ workflow: "loan", wakeAt: 1_000 });
    await subject.create({ workflow: "deploy" });
    const taken: string[] = [];
    for (let n = 0; n < 8; n++)
      taken.push(...(await claim({ workflow: ["loan", "deploy"], limit: 1 })).map((run) => run.workflow));
    expect(taken).toHaveLength(8);
    expect(taken).toContain("deploy");
  },
};

const keeping: Checks = {
  "claim keeps runs from lists and other claims for its time": async (subject) => {
    const claim = claimOf(subject);
    const { clock } = subject;
    const head = await subject.create();
    expect(await claim()).toEqual([head]);
    for (const ms of [0, quietMs - 1]) {
      clock.now += ms;
      expect(await claim()).toEqual([]);
      expect(await subject.due()).toEqual([]);
      expect(await subject.locators(), "it is listed all the same").toEqual([head.locator]);
    }
    clock.now += 1;
    expect(await subject.due()).toEqual([head.locator]);
    expect(await claim()).toEqual([head]);
  },

  "claim is ended by an append": async (subject) => {
    const claim = claimOf(subject);
    const head = await subject.create();
    await claim();
    await subject.storage.append(request(head, 1));
    expect(await subject.due()).toEqual([head.locator]);
    expect(await claim()).toEqual([head]);
  },

  "claim is ended by a release": async (subject) => {
    const claim = claimOf(subject);
    const { storage } = subject;
    const head = await subject.create();
    await claim();
    await storage.lease(head.locator, "a", 60_000);
    await storage.release(head.locator, "a");
    expect(await claim()).toEqual([head]);
  },

  "claim gives no right to drive, and counts no start": async (subject) => {
    const claim = claimOf(subject);
    const { storage, clock } = subject;
    const head = await subject.create();
    for (let n = 0; n < 3; n++) {
      expect(await claim()).toHaveLength(1);
      clock.now += quietMs;
    }
    await claim();
    expect(await storage.lease(head.locator, "another", 1_000)).toMatchObject({ starts: 1, length: 1 });
    expect(await storage.lease(head.locator, "b", 1_000), "while another drives").toBeNull();
  },

  "claim leaves a note as it is": async (subject) => {
    const claim = claimOf(subject);
    const note = { code: "diverged", message: "put it right", since: 5, length: 1 };
    const head = await subject.create();
    await subject.optional("note")(head.locator, note);
    const blocked = { ...head, status: "blocked", blocked: note } as const;
    expect(await claim()).toEqual([blocked]);
    expect((await subject.list({ status: "blocked" })).runs).toEqual([blocked]);
  },

  "claim gives each run to one of many that ask at the same time": async (subject) => {
    const claim = claimOf(subject);
    const other = claimOf(subject, await subject.second());
    const made: string[] = [];
    for (let n = 0; n < 40; n++) {
      const workflow = n % 4 === 0 ? "deploy" : "loan";
      made.push((await subject.create({ workflow })).locator);
    }
    const asked = { workflow: ["loan", "deploy"], limit: 7 };
    const taken = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? claim : other)(asked)),
    );
    const seen = taken.flatMap(locatorsOf);
    expect(new Set(seen).size, "none twice").toBe(seen.length);
    while (seen.length < made.length) {
      const rest = await other(asked);
      expect(rest.length, "what they left is still there").toBeGreaterThan(0);
      seen.push(...locatorsOf(rest));
    }
    expect(seen.toSorted()).toEqual(made.toSorted());
  },
};

export const claimChecks: Checks = { ...taking, ...keeping };
