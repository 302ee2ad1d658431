/**
 * Tags and versions of heads, and the filters of lists, claims and `whenDue` by them. Storages without `finds` skip these.
 * Proven in test/conformance.test.ts.
 */

import type { ListQuery, RunHead } from "@durable/core";
import { expect } from "vitest";
import { never, stateOf } from "./changed.ts";
import { request, type Checks, type Subject } from "./subject.ts";

/** Heads that fit a query, by a definition of its own: newest first. */
function expected(heads: readonly RunHead[], query: ListQuery): RunHead[] {
  const {
    tags = {},
    version,
    createdAfter = 0,
    createdBefore = Infinity,
    q,
    workflow,
    status,
    parent,
  } = query;
  return heads
    .filter((head) => Object.entries(tags).every(([name, value]) => head.tags?.[name] === value))
    .filter((head) => version === undefined || [version].flat().includes(head.version ?? ""))
    .filter((head) => head.createdAt >= createdAfter && head.createdAt < createdBefore)
    .filter((head) => q === undefined || textsOf(head).some((text) => text.startsWith(q)))
    .filter((head) => workflow === undefined || [workflow].flat().includes(head.workflow))
    .filter((head) => (status ?? head.status) === head.status && (parent ?? head.parent) === head.parent)
    .toReversed();
}

function textsOf({ runId, label, tags = {} }: RunHead): string[] {
  return [runId, label ?? "", ...Object.values(tags)];
}

async function createAll(subject: Subject): Promise<RunHead[]> {
  subject.needsFinds();
  const root = await subject.create({ workflow: "root" });
  const heads = [root];
  const customers = ["41", "42", "421", "it's", "Zoë", "日本", "a%_b"];
  for (let n = 0; n < 28; n++) {
    const customer = customers[n % 7] ?? "";
    const tags = n % 4 === 3 ? undefined : { customer, stage: n % 3 === 0 ? "late" : "42" };
    heads.push(
      await subject.create({
        workflow: n % 2 === 0 ? "loan" : "mail",
        ...(n % 5 === 0 && { status: "completed", wakeAt: null }),
        parent: n % 6 === 0 ? root.runId : null,
        label: n % 6 === 0 ? `42 try ${n}` : null,
        ...(tags && { tags }),
        ...(n % 3 !== 2 && { version: String(n % 3) }),
      }),
    );
  }
  return heads;
}

const listing: Checks = {
  "list gives the tags and the version of a head": async (subject) => {
    subject.needsFinds();
    const plain = await subject.create();
    const tagged = await subject.create({ tags: { customer: "42", "a.b:c/d-e_f": "" }, version: "2.0" });
    expect((await subject.list()).runs).toEqual([tagged, plain]);
    expect((await subject.storage.read(tagged.locator)).head).toEqual(tagged);
    expect((await subject.due()).length, "due runs have them, too").toBe(2);
  },

  "list filters by tags, version, times and text, apart and together": async (subject) => {
    const heads = await createAll(subject);
    const at = (n: number): number => heads[n]?.createdAt ?? 0;
    const queries: ListQuery[] = [
      ...["41", "42", "it's", "Zoë", "日本", "unknown", "4"].map((customer) => ({ tags: { customer } })),
      { tags: { customer: "42", stage: "late" } },
      { tags: { customer: "42", stage: "42" }, workflow: "mail" },
      { tags: { stage: "late" }, status: "completed" },
      { tags: { stage: "late" }, createdAfter: at(5), createdBefore: at(20) },
      { tags: {} },
      { version: "0" },
      { version: ["0", "1", "0"] },
      { version: [] },
      { version: "1", workflow: "loan", status: "running" },
      { createdAfter: at(20) },
      { createdBefore: at(3) },
      { createdAfter: at(4), createdBefore: at(4) },
      { createdAfter: at(3), createdBefore: at(9), workflow: ["loan", "mail"] },
      { createdAfter: at(3), parent: heads[0]?.runId },
      ...["42", "4", "it'", "Zo", "日", "42 try 1", "a%_", "a%x", "run-", "nothing"].map((q) => ({ q })),
      { q: heads[7]?.runId ?? "" },
      { q: "42", workflow: "loan", status: "running", createdAfter: at(4), tags: { stage: "late" } },
    ];
    for (const query of queries)
      expect({ query, runs: (await subject.list(query)).runs }).toEqual({
        query,
        runs: expected(heads, query),
      });
  },

  "list pages through what it found": async (subject) => {
    const heads = await createAll(subject);
    const from = heads[2]?.createdAt ?? 0;
    for (const query of [
      { tags: { stage: "late" } },
      { q: "42" },
      { version: ["0", "1"] },
      { createdAfter: from },
    ]) {
      const found = await subject.pages({ ...query, limit: 3 }, async () => {});
      expect({ query, found }).toEqual({ query, found: expected(heads, query) });
    }
  },

  "list finds due runs by tags and version": async (subject) => {
    const heads = await createAll(subject);
    const open = heads.filter(({ wakeAt }) => wakeAt !== null);
    for (const query of [
      { tags: { stage: "late" } },
      { version: "0" },
      { version: ["1", "0"], workflow: ["loan"] },
    ]) {
      const due = await subject.due(query);
      const runs = expected(open, query).toReversed();
      expect({ query, due }).toEqual({ query, due: runs.map(({ locator }) => locator) });
    }
  },
};

const changing: Checks = {
  "an append changes tags": async (subject) => {
    subject.needsFinds();
    const { storage } = subject;
    const head = await subject.create({ tags: { customer: "42" }, version: "1" });
    const moved = { ...head, tags: { customer: "43", stage: "late" } };
    await storage.append({ ...request(moved, 1), newTags: true });
    for (const [customer, found] of Object.entries({ "42": [], "43": [moved] }))
      expect({ customer, runs: (await subject.list({ tags: { customer } })).runs }).toEqual({
        customer,
        runs: found,
      });
    await storage.append(request(moved, 2, { owner: "a", ttlMs: 1_000 }));
    expect((await subject.list({ q: "late" })).runs).toEqual([moved]);
    const bare = { ...head, tags: {} };
    await storage.append({ ...request(bare, 3), newTags: true });
    expect((await subject.list({ tags: { stage: "late" } })).runs).toEqual([]);
    expect((await subject.list()).runs).toEqual([bare]);
    const first = await subject.create();
    const late = { ...first, tags: { customer: "44" } };
    await storage.append({ ...request(late, 1), newTags: true });
    expect((await subject.list({ tags: { customer: "44" } })).runs, "a first tag").toEqual([late]);
  },

  "a chapter has a version of its own, and keeps tags": async (subject) => {
    subject.needsFinds();
    const { storage } = subject;
    const head = await subject.create({ tags: { customer: "42" }, version: "1" });
    const next = { ...head, chapter: 1, version: "2" };
    await storage.append(request(next, 1));
    expect((await subject.list({ version: "1" })).runs).toEqual([]);
    expect((await subject.list({ version: "2", tags: { customer: "42" } })).runs).toEqual([next]);
    const { version: _, ...bare } = { ...next, chapter: 2 };
    await storage.append(request(bare, 2));
    expect((await subject.list({ tags: { customer: "42" } })).runs).toEqual([bare]);
    expect((await subject.list({ version: ["1", "2"] })).runs).toEqual([]);
  },

  "a deleted run is not found, and its id may be used again": async (subject) => {
    subject.needsFinds();
    const { storage } = subject;
    const head = await subject.create({ tags: { customer: "42" }, version: "1" });
    const fork = await subject.create({
      ancestors: [head.locator],
      parent: head.runId,
      tags: { customer: "42" },
    });
    await storage.delete(head.locator);
    for (const query of [{ tags: { customer: "42" } }, { q: "42" }, { createdAfter: 0 }])
      expect({ query, runs: (await subject.list(query)).runs }).toEqual({ query, runs: [fork] });
    expect((await subject.list({ version: "1" })).runs).toEqual([]);
    await storage.delete(fork.locator);
    expect((await subject.list({ tags: { customer: "42" } })).runs).toEqual([]);
    const again = await subject.create({ locator: head.locator, tags: { customer: "43" } });
    expect((await subject.list({ q: "4" })).runs).toEqual([again]);
  },
};

const claiming: Checks = {
  "claim takes only runs of the versions that it is asked for": async (subject) => {
    subject.needsFinds();
    const claim = subject.optional("claim");
    const { clock } = subject;
    const made: Record<string, string[]> = {};
    for (let n = 0; n < 24; n++) {
      const version = ["1", "2", "3", undefined][n % 4];
      const workflow = n % 3 === 0 ? "mail" : "loan";
      const { locator } = await subject.create({ workflow, ...(version !== undefined && { version }) });
      (made[`${workflow} ${version}`] ??= []).push(locator);
    }
    const ask = async (workflow: string[], version?: string[], limit = 100): Promise<string[]> => {
      const runs = await claim({ workflow, version, dueAt: clock.now, limit, quietMs: 5_000 });
      return runs.map(({ locator }) => locator);
    };
    expect(await ask(["loan"], ["none"])).toEqual([]);
    expect(await ask(["loan"], [])).toEqual([]);
    expect(await ask(["loan"], ["2"], 1)).toEqual(made["loan 2"]?.slice(0, 1));
    expect(await ask(["loan"], ["2"])).toEqual(made["loan 2"]?.slice(1));
    const both = [...(made["mail 1"] ?? []), ...(made["mail 3"] ?? [])];
    expect((await ask(["mail"], ["3", "1", "1"])).toSorted()).toEqual(both.toSorted());
    const rest = Object.keys(made).filter((name) => !/loan 2|mail [13]/.test(name));
    expect((await ask(["loan", "mail"])).toSorted(), "of all versions").toEqual(
      rest.flatMap((name) => made[name] ?? []).toSorted(),
    );
  },

  "claim of a version finds a run whose driver is gone": async (subject) => {
    subject.needsFinds();
    const claim = subject.optional("claim");
    const head = await subject.create({ version: "2" }, { owner: "a", ttlMs: 100 });
    const asked = { workflow: ["loan"], limit: 10, quietMs: 5_000 };
    const dueAt = (subject.clock.now += 100);
    expect(await claim({ ...asked, dueAt, version: ["1"] })).toEqual([]);
    expect(await claim({ ...asked, dueAt, version: ["2"] })).toEqual([head]);
  },

  "whenDue waits for runs of its versions": async (subject) => {
    subject.needsFinds();
    const whenDue = subject.optional("whenDue");
    const abort = new AbortController();
    await subject.create({ version: "1" });
    await subject.create();
    const watch = whenDue(["loan"], abort.signal, ["2", "3"]);
    expect(await stateOf(watch)).toBe("pending");
    await subject.create({ version: "1" });
    expect(await stateOf(watch), "another version has work").toBe("pending");
    await subject.create({ version: "3" });
    await watch;
    const wakeAt = subject.clock.now + 200;
    await subject.create({ version: "4", status: "suspended", wakeAt });
    const later = whenDue(["loan"], never(), ["4"]);
    expect(await stateOf(later, 20)).toBe("pending");
    subject.clock.now = wakeAt;
    await later;
    abort.abort();
  },
};

export const findingChecks: Checks = { ...listing, ...changing, ...claiming };
