/**
 * What purging needs: runs by their end, deletions of unchanged runs, children of many runs, turns. Proven in
 * test/conformance.test.ts.
 */

import type { RunHead } from "@durable/core";
import type { UsageRow } from "@durable/core/types";
import { expect } from "vitest";
import { randomLocator, request, type Checks, type Subject } from "./subject.ts";

type End = "completed" | "failed" | "cancelled";

/** A run that has ended at this time. */
async function ended(
  subject: Subject,
  status: End,
  at: number,
  changes: Partial<RunHead> = {},
): Promise<RunHead> {
  const head = await subject.create(changes);
  const last = { ...head, status, wakeAt: null, updatedAt: at };
  await subject.storage.append(request(last, 1));
  return last;
}

const locatorsOf = (heads: readonly RunHead[]): string[] => heads.map(({ locator }) => locator).toSorted();

export const endedChecks: Checks = {
  "a list by end has runs that ended before a time, and no others": async (subject) => {
    const from = subject.clock.now;
    const old = [await ended(subject, "completed", from + 100), await ended(subject, "failed", from + 200)];
    await ended(subject, "cancelled", from + 300);
    await subject.create({ updatedAt: from });
    await subject.create({ updatedAt: from, status: "suspended", wakeAt: null });
    const query = { endedBefore: from + 300 };
    expect((await subject.locators(query)).toSorted()).toEqual(locatorsOf(old));
    expect(await subject.locators({ ...query, status: "failed" })).toEqual([old[1]?.locator]);
    expect(await subject.locators({ ...query, status: "running" })).toEqual([]);
    expect(await subject.locators({ endedBefore: from + 100 })).toEqual([]);
    const { runs } = await subject.list({ endedBefore: from + 101 });
    expect(runs, "the head is the one of a list").toEqual([old[0]]);
  },

  "a list by end goes by workflow and parent as well": async (subject) => {
    const from = subject.clock.now;
    const loan = await ended(subject, "completed", from + 100);
    const mail = await ended(subject, "completed", from + 90, { workflow: "mail", parent: loan.runId });
    await ended(subject, "completed", from + 80, { workflow: "other" });
    const query = { endedBefore: from + 1_000 };
    expect(await subject.locators({ ...query, workflow: "loan" })).toEqual([loan.locator]);
    expect((await subject.locators({ ...query, workflow: ["loan", "mail"] })).toSorted()).toEqual(
      locatorsOf([loan, mail]),
    );
    expect(await subject.locators({ ...query, workflow: [] })).toEqual([]);
    expect(await subject.locators({ ...query, parent: loan.runId })).toEqual([mail.locator]);
  },

  "a list by end shows each run once, page by page, while runs are deleted": async (subject) => {
    const from = subject.clock.now;
    const all: RunHead[] = [];
    for (let n = 0; n < 23; n++) {
      const status = (["completed", "failed", "cancelled"] as const)[n % 3] as End;
      // Several end at the same time, and not in the order in which they began.
      all.push(
        await ended(subject, status, from + 1_000 + ((n * 7) % 5) * 10, { workflow: `flow ${n % 2}` }),
      );
    }
    const query = { endedBefore: from + 10_000, limit: 4 };
    const seen = await subject.pages(query, () => Promise.resolve());
    expect(seen.map(({ locator }) => locator).toSorted()).toEqual(locatorsOf(all));
    const again = await subject.pages(query, async ({ runs }) => {
      for (const { locator } of runs) await subject.storage.delete(locator);
    });
    expect(again.map(({ locator }) => locator).toSorted()).toEqual(locatorsOf(all));
    expect(await subject.locators(query)).toEqual([]);
  },

  "a run that goes on after its end leaves the list by end": async (subject) => {
    const from = subject.clock.now;
    const head = await ended(subject, "failed", from + 100);
    await subject.storage.append(
      request({ ...head, status: "running", wakeAt: 0, updatedAt: from + 200 }, 2),
    );
    expect(await subject.locators({ endedBefore: from + 1_000 })).toEqual([]);
    await subject.storage.append(request({ ...head, updatedAt: from + 300 }, 3));
    expect(await subject.locators({ endedBefore: from + 300 })).toEqual([]);
    expect(await subject.locators({ endedBefore: from + 301 })).toEqual([head.locator]);
  },

  "a list has the forks and children of several runs": async (subject) => {
    const [one, two, three] = [await subject.create(), await subject.create(), await subject.create()];
    const below: RunHead[] = [];
    for (const parent of [one, two, two, three, one])
      below.push(await subject.create({ parent: parent.runId }));
    const parent = [one.runId, two.runId, "unknown"];
    const wanted = below.filter((head) => head.parent !== three.runId);
    expect(await subject.locators({ parent })).toEqual(wanted.toReversed().map(({ locator }) => locator));
    const seen = await subject.pages({ parent, limit: 2 }, () => Promise.resolve());
    expect(seen.map(({ locator }) => locator)).toEqual(wanted.toReversed().map(({ locator }) => locator));
    expect(await subject.locators({ parent: [three.runId] })).toEqual([below[3]?.locator]);
    expect(await subject.locators({ parent: [] })).toEqual([]);
  },

  "deleteUnchanged deletes runs that are as they were listed, and says which": async (subject) => {
    const deleteUnchanged = subject.optional("deleteUnchanged");
    const from = subject.clock.now;
    const [gone, more, reborn, kept] = [
      await ended(subject, "completed", from + 10),
      await ended(subject, "failed", from + 20),
      await ended(subject, "completed", from + 30),
      await ended(subject, "completed", from + 40),
    ];
    // A run that goes on, and a run that was deleted and has begun anew under its id.
    const now = { ...more, status: "running" as const, wakeAt: 0, updatedAt: from + 50 };
    await subject.storage.append(request(now, 2));
    await subject.storage.delete(reborn.locator);
    await subject.storage.append(request({ ...reborn, createdAt: reborn.createdAt + 1 }, 0));
    const unknown = { ...gone, locator: "unknownunknownunkn" };
    const stale = { ...kept, updatedAt: kept.updatedAt - 1 };
    for (const one of [more, reborn, unknown, stale]) expect(await deleteUnchanged([one])).toEqual([]);
    const deleted = await deleteUnchanged([gone, more, reborn, unknown, stale, kept]);
    expect([...deleted].toSorted()).toEqual(locatorsOf([gone, kept]));
    expect((await subject.locators()).toSorted()).toEqual(locatorsOf([more, reborn]));
    expect(await deleteUnchanged([gone, kept]), "they are gone").toEqual([]);
    expect(await subject.storage.read(gone.locator)).toMatchObject({ batches: [], length: 0 });
    expect(await deleteUnchanged([])).toEqual([]);
  },

  "deleteUnchanged keeps what forks read, until the last of them has gone": async (subject) => {
    const deleteUnchanged = subject.optional("deleteUnchanged");
    const { storage, clock } = subject;
    const parent = await ended(subject, "completed", clock.now + 10);
    const fork = await ended(subject, "completed", clock.now + 20, {
      parent: parent.runId,
      ancestors: [parent.locator],
    });
    expect(await deleteUnchanged([parent])).toEqual([parent.locator]);
    expect(await subject.locators()).toEqual([fork.locator]);
    expect(await storage.read(parent.locator)).toMatchObject({ length: 2, deleted: true });
    expect(await deleteUnchanged([parent]), "it is hidden already").toEqual([]);
    expect(await deleteUnchanged([fork])).toEqual([fork.locator]);
    expect(await storage.read(parent.locator)).toMatchObject({ batches: [], length: 0 });
    expect(await storage.read(fork.locator)).toMatchObject({ batches: [], length: 0 });
  },

  "deleteUnchanged of a parent and its fork removes both, in either order": async (subject) => {
    const deleteUnchanged = subject.optional("deleteUnchanged");
    for (const turn of [false, true]) {
      const parent = await ended(subject, "completed", subject.clock.now + 10);
      const about = { parent: parent.runId, ancestors: [parent.locator] };
      const fork = await ended(subject, "completed", subject.clock.now + 20, about);
      const heads = turn ? [fork, parent] : [parent, fork];
      expect([...(await deleteUnchanged(heads))].toSorted()).toEqual(locatorsOf(heads));
      for (const { locator } of heads)
        expect(await subject.storage.read(locator)).toMatchObject({ batches: [], length: 0 });
    }
  },

  "deleteUnchanged removes blobs with the last run that names them": async (subject) => {
    const deleteUnchanged = subject.optional("deleteUnchanged");
    const { storage } = subject;
    const heads: RunHead[] = [];
    for (const name of ["one", "two"]) {
      const head = await subject.create();
      const blobs = [
        { name: "shared", body: "the body" },
        { name, body: name },
      ];
      const last = { ...head, status: "completed" as const, wakeAt: null };
      await storage.append({ ...request(last, 1), blobs });
      heads.push(last);
    }
    const has = async (name: string): Promise<boolean> => {
      const head = await subject.create();
      const asked = storage.append({ ...request(head, 1), blobs: [{ name }] });
      const found = await asked.then(
        () => true,
        () => false,
      );
      await storage.delete(head.locator);
      return found;
    };
    await deleteUnchanged(heads.slice(0, 1));
    expect(await has("one")).toBe(false);
    const { blobs } = await storage.read(heads[1]?.locator ?? "");
    expect(blobs).toEqual({ shared: "the body", two: "two" });
    await deleteUnchanged(heads.slice(1));
    expect([await has("two"), await has("shared")]).toEqual([false, false]);
  },

  "what a deleted run used is kept once, by day, workflow and model": async (subject) => {
    const spent = subject.optional("spent");
    const { storage } = subject;
    const workflow = `spent ${randomLocator()}`;
    const unpriced = { day: "2026-11-18", provider: "p", inputTokens: 5, outputTokens: 2 };
    const used = { ...unpriced, cost: 0.25 };
    const rows: UsageRow[][] = [
      [
        { ...used, model: "a", label: "draft" },
        { ...used, model: "a", label: "check", cachedInputTokens: 3 },
        { ...unpriced, model: "b\u0000\ud800", label: "draft" },
      ],
      [
        { ...used, model: "a", label: "draft" },
        { ...used, model: "b\u0000\ud800", label: "draft" },
        { ...used, model: "a", label: "draft", day: "2026-11-19" },
      ],
      [{ ...used, model: "a", label: "draft" }],
    ];
    const heads: RunHead[] = [];
    for (const usage of rows) {
      const head = { ...(await subject.create({ workflow })), status: "completed" as const, wakeAt: null };
      const marked = { ...head, usage, error: { code: "thrown", group: "\ud800" } };
      await storage.append({ ...request(marked, 1), newMarks: true });
      heads.push(marked);
    }
    const [first, second] = heads as [RunHead, RunHead];
    const deleteUnchanged = storage.deleteUnchanged?.bind(storage);
    await Promise.all([
      storage.delete(first.locator),
      deleteUnchanged?.([second]) ?? storage.delete(second.locator),
    ]);
    await Promise.all([
      storage.delete(first.locator),
      deleteUnchanged?.([second]),
      storage.delete("unknown"),
    ]);
    const found = (await spent())
      .filter((row) => row.workflow === workflow)
      .toSorted((a, b) => (a.day + a.model < b.day + b.model ? -1 : 1));
    expect(found).toEqual([
      { ...used, workflow, model: "a", inputTokens: 15, outputTokens: 6, cost: 0.75, cachedInputTokens: 3 },
      {
        ...unpriced,
        workflow,
        model: expect.stringContaining("b") as string,
        inputTokens: 10,
        outputTokens: 4,
      },
      { ...used, workflow, model: "a", day: "2026-11-19" },
    ]);
  },

  "giveBackSpace keeps everything that is stored": async (subject) => {
    const giveBackSpace = subject.optional("giveBackSpace");
    const kept = await subject.createLong(3);
    const gone = await subject.createLong(50);
    await subject.storage.delete(gone.locator);
    await giveBackSpace();
    await giveBackSpace(AbortSignal.abort());
    expect(await subject.storage.read(kept.locator)).toMatchObject({ length: 3 });
    expect(await subject.locators()).toEqual([kept.locator]);
  },

  "takeTurn gives a turn to one owner at a time": async (subject) => {
    const takeTurn = subject.optional("takeTurn");
    const { clock } = subject;
    expect(await takeTurn("purge", "a", 1_000)).toBe(true);
    expect(await takeTurn("purge", "b", 1_000)).toBe(false);
    expect(await takeTurn("other", "b", 1_000), "turns have names").toBe(true);
    clock.now += 900;
    expect(await takeTurn("purge", "a", 1_000), "the owner extends it").toBe(true);
    clock.now += 900;
    expect(await takeTurn("purge", "b", 1_000)).toBe(false);
    clock.now += 100;
    expect(await takeTurn("purge", "b", 1_000), "it has ended").toBe(true);
    expect(await takeTurn("purge", "a", 1_000)).toBe(false);
  },

  "takeTurn gives a turn to one of many that ask at once": async (subject) => {
    const takeTurn = subject.optional("takeTurn");
    const asked = await Promise.all(
      Array.from({ length: 8 }, (_, n) => takeTurn("purge", `owner ${n}`, 60_000)),
    );
    expect(asked.filter(Boolean)).toHaveLength(1);
  },
};
