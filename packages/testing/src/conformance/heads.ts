/**
 * `list`: heads as they were last appended, newest first, filtered and paged. Proven in
 * test/conformance.test.ts.
 */

import type { RunHead } from "@durable/core";
import { expect } from "vitest";
import { request, type Checks, type Subject } from "./subject.ts";

async function createMany(subject: Subject, count: number): Promise<string[]> {
  const made: string[] = [];
  for (let n = 0; n < count; n++) made.push((await subject.create()).locator);
  return made.toReversed();
}

export const headChecks: Checks = {
  "list is empty at first": async (subject) => {
    expect(await subject.list()).toEqual({ runs: [], next: null });
    expect(await subject.list({ dueAt: subject.clock.now })).toEqual({ runs: [], next: null });
  },

  "list gives the head that was last appended": async (subject) => {
    const { storage } = subject;
    const grandparent = await subject.create();
    const parent = await subject.create();
    const made = await subject.create({
      label: "second try",
      parent: parent.runId,
      ancestors: [parent.locator, grandparent.locator],
    });
    expect((await subject.list()).runs[0]).toEqual(made);
    const stops = [
      { status: "running", wakeAt: made.createdAt + 0.5, updatedAt: made.createdAt + 0.25, steps: 1 },
      { status: "suspended", wakeAt: 4_000_000_000_000, updatedAt: made.createdAt + 7, steps: 2 },
      { status: "suspended", wakeAt: null, updatedAt: made.createdAt + 8, steps: 2 },
      { status: "completed", wakeAt: null, updatedAt: made.createdAt + 9, steps: 3 },
    ] as const;
    for (const [index, stop] of stops.entries()) {
      await storage.append(request({ ...made, ...stop }, index + 1));
      expect((await subject.list()).runs).toEqual([{ ...made, ...stop }, parent, grandparent]);
    }
  },

  "list gives the newest run first, whatever was appended since": async (subject) => {
    const first = await subject.create();
    const second = await subject.create();
    const third = await subject.create();
    await subject.storage.append(request({ ...first, updatedAt: (subject.clock.now += 5) }, 1));
    expect(await subject.locators()).toEqual([third.locator, second.locator, first.locator]);
  },

  "list has a run that is added later, as by a copy, where its creation belongs": async (subject) => {
    const tags = { customer: "42" };
    const [first, second] = [await subject.create({ tags }), await subject.create({ tags })];
    const old = { createdAt: first.createdAt - 3_600_000, updatedAt: first.createdAt, tags };
    const older = await subject.create({ ...old, createdAt: old.createdAt - 2 });
    const added = await subject.create(old);
    const between = await subject.create({ ...old, createdAt: old.createdAt - 1 });
    const last = await subject.create({ tags });
    const wanted = [last, second, first, added, between, older];
    const { workflow, status } = first;
    const finds = subject.storage.finds === true ? [{ tags }, { q: "42" }, { createdAfter: 0 }] : [];
    for (const query of [{}, { workflow }, { status }, { workflow: [workflow, "none"] }, ...finds]) {
      const found = await subject.pages({ ...query, limit: 2 }, async () => {});
      expect(
        found.map(({ runId }) => runId),
        `of ${JSON.stringify(query)}`,
      ).toEqual(wanted.map(({ runId }) => runId));
    }
  },

  "list filters by workflow, status and parent, apart and together": async (subject) => {
    const root = await subject.create({ workflow: "root" });
    const all = [root];
    for (const workflow of ["loan", "deploy"])
      for (const status of ["running", "suspended", "completed", "failed", "cancelled"] as const)
        for (const parent of [null, root.runId])
          all.unshift(await subject.create({ workflow, status, parent }));
    const queries = [
      { workflow: "loan" },
      { workflow: "unknown" },
      { status: "suspended" },
      { status: "failed", workflow: "deploy" },
      { parent: root.runId },
      { parent: "run-unknown" },
      { parent: root.runId, status: "completed" },
      { parent: root.runId, status: "cancelled", workflow: "loan" },
    ] as const;
    for (const query of queries) {
      const expected = all.filter((head) =>
        Object.entries(query).every(([field, value]) => head[field as "workflow"] === value),
      );
      expect((await subject.list(query)).runs, `of ${JSON.stringify(query)}`).toEqual(expected);
    }
  },

  "list gives the runs of several workflows, newest first": async (subject) => {
    const all: RunHead[] = [];
    for (let n = 0; n < 20; n++)
      all.unshift(
        await subject.create({ workflow: ["a", "b", "c"][(n * 2) % 3] ?? "", steps: n % 2, parent: null }),
      );
    const wanted = all.filter(({ workflow }) => workflow !== "b");
    expect((await subject.list({ workflow: ["c", "a", "c"] })).runs).toEqual(wanted);
    expect(await subject.pages({ workflow: ["c", "a"], limit: 4 }, async () => {})).toEqual(wanted);
    expect((await subject.list({ workflow: ["a"], status: "running" })).runs).toEqual(
      all.filter(({ workflow }) => workflow === "a"),
    );
    expect((await subject.list({ workflow: [] })).runs).toEqual([]);
  },

  "list begins at the first page when the cursor is null": async (subject) => {
    const made = await createMany(subject, 3);
    expect(await subject.locators({ cursor: null, limit: 2 })).toEqual(made.slice(0, 2));
    expect(await subject.due({ cursor: null, limit: 2 })).toEqual(made.toReversed().slice(0, 2));
  },

  "list follows a run from one status to the next": async (subject) => {
    const head = await subject.create();
    await subject.storage.append(request({ ...head, status: "suspended", wakeAt: null }, 1));
    expect(await subject.locators({ status: "running" })).toEqual([]);
    expect(await subject.locators({ status: "suspended" })).toEqual([head.locator]);
  },

  "list keeps to the limit": async (subject) => {
    const made = await createMany(subject, 5);
    expect(await subject.locators({ limit: 2 })).toEqual(made.slice(0, 2));
    expect(await subject.list({ limit: 5, workflow: "loan" })).toMatchObject({ next: null });
    expect(await subject.locators({ limit: 50 })).toEqual(made);
  },

  "list pages through every run once while others are added": async (subject) => {
    const made = await createMany(subject, 23);
    const found = await subject.pages({ limit: 5, workflow: "loan" }, async () => {
      await subject.create();
      await subject.create({ workflow: "deploy" });
    });
    const seen = found.map(({ locator }) => locator);
    expect(new Set(seen).size, "none twice").toBe(seen.length);
    expect(seen.filter((locator) => made.includes(locator))).toEqual(made);
  },

  "list pages on when the run a page ended with has changed or gone": async (subject) => {
    const made = await createMany(subject, 12);
    let pages = 0;
    const found = await subject.pages({ limit: 4, status: "running" }, async ({ runs }) => {
      const last = runs.at(-1);
      if (last === undefined) return;
      pages += 1;
      if (pages % 2 === 0) await subject.storage.delete(last.locator);
      else await subject.storage.append(request({ ...last, status: "completed", wakeAt: null }, 1));
    });
    expect(found.map(({ locator }) => locator)).toEqual(made);
    expect(pages).toBe(3);
  },
};
