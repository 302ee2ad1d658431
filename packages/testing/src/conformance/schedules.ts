/** Schedules: a compare-and-swap on their version, and lists. Proven in test/conformance.test.ts. */

import type { ScheduleStore, StoredSchedule } from "@durable/core/storage";
import { expect } from "vitest";
import type { Checks } from "./subject.ts";

/** A schedule with a version of its own, with changes. */
function schedule(changes: Partial<StoredSchedule> = {}): StoredSchedule {
  const version = crypto.randomUUID();
  return { name: "daily", workflow: "loan", dueAt: 1_000, version, text: `{"n":"${version}"}`, ...changes };
}

async function namesOf(
  store: ScheduleStore,
  query: Parameters<ScheduleStore["list"]>[0] = {},
): Promise<string[]> {
  return (await store.list(query)).map(({ name }) => name);
}

const writing: Checks = {
  "schedules are returned as they were put": async (subject) => {
    const store = subject.schedules();
    expect(await store.get("daily")).toBeNull();
    const texts = ["", "ä\u0000\u0001\ud83d\ude00\n'\"", "x".repeat(100_000)];
    for (const [n, text] of texts.entries())
      for (const dueAt of [null, 0, 1_800_000_000_123]) {
        const put = schedule({ name: `s-${n}-${dueAt}`, text, dueAt, workflow: "a\u0000 ä'" });
        expect(await store.put(put, null)).toBe(true);
        expect(await store.get(put.name)).toEqual(put);
      }
    await subject.settled();
    expect(await store.list()).toHaveLength(9);
  },

  "schedules are put only in the place of the version that was read": async (subject) => {
    const store = subject.schedules();
    const first = schedule();
    expect(await store.put(first, "another")).toBe(false);
    expect(await store.get("daily")).toBeNull();
    expect(await store.put(first, null)).toBe(true);
    expect(await store.put(schedule(), null), "there is one").toBe(false);
    expect(await store.put(schedule(), "another")).toBe(false);
    expect(await store.get("daily")).toEqual(first);
    const second = schedule({ dueAt: null, workflow: "deploy" });
    expect(await store.put(second, first.version)).toBe(true);
    expect(await store.put(schedule(), first.version), "an old version").toBe(false);
    expect(await store.get("daily")).toEqual(second);
  },

  "schedules are deleted only at the version that was read": async (subject) => {
    const store = subject.schedules();
    const first = schedule();
    expect(await store.delete("daily", first.version)).toBe(false);
    await store.put(first, null);
    expect(await store.delete("daily", "another")).toBe(false);
    expect(await store.get("daily")).toEqual(first);
    expect(await store.delete("daily", first.version)).toBe(true);
    expect(await store.get("daily")).toBeNull();
    await subject.settled();
    expect(await store.list()).toEqual([]);
    expect(await store.put(schedule(), first.version), "a late writer").toBe(false);
    expect(await store.get("daily")).toBeNull();
    const again = schedule();
    expect(await store.put(again, null)).toBe(true);
    expect(await store.put(schedule(), first.version), "a later one").toBe(false);
    expect(await store.get("daily")).toEqual(again);
  },

  "schedules have one winner of many writers": async (subject) => {
    const store = subject.schedules();
    const other = subject.schedules(await subject.second());
    let last: StoredSchedule | null = null;
    for (let round = 0; round < 12; round++) {
      const puts: StoredSchedule[] = Array.from({ length: 8 }, () => schedule());
      const expected: string | null = last?.version ?? null;
      const won = await Promise.all(puts.map((put, n) => (n % 2 === 0 ? store : other).put(put, expected)));
      const winners: StoredSchedule[] = puts.filter((_, n) => won[n]);
      expect(winners).toHaveLength(1);
      last = winners[0] ?? null;
      expect(await store.get("daily")).toEqual(last);
      expect(await other.get("daily")).toEqual(last);
    }
  },

  "schedules change many times, and every handle sees the last change": async (subject) => {
    const store = subject.schedules();
    const other = subject.schedules(await subject.second());
    let last = schedule();
    await store.put(last, null);
    expect(await other.get("daily")).toEqual(last);
    for (let n = 0; n < 30; n++) {
      const next = schedule({ dueAt: n });
      expect(await store.put(next, last.version)).toBe(true);
      last = next;
    }
    expect(await other.get("daily")).toEqual(last);
    expect(await other.put(schedule(), last.version)).toBe(true);
    expect(await store.put(schedule(), last.version)).toBe(false);
  },
};

const listing: Checks = {
  "schedules are listed by name, in pages": async (subject) => {
    const store = subject.schedules();
    const names = ["b", "a", "B", "c-1", "c_1", "10", "9"];
    for (const name of names) await store.put(schedule({ name }), null);
    await subject.settled();
    const sorted = names.toSorted((a, b) => (a < b ? -1 : 1));
    expect(await namesOf(store)).toEqual(sorted);
    expect(await namesOf(store, { limit: 3 })).toEqual(sorted.slice(0, 3));
    expect(await namesOf(store, { limit: 3, after: sorted[2] })).toEqual(sorted.slice(3, 6));
    expect(await namesOf(store, { after: sorted.at(-1) })).toEqual([]);
    expect(await namesOf(store, { limit: 0 })).toEqual([]);
  },

  "schedules that are due are listed, the longest first": async (subject) => {
    const store = subject.schedules();
    for (const [name, dueAt] of [
      ["never", null],
      ["later", 3_000],
      ["first", 0],
      ["b", 1_000],
      ["a", 1_000],
    ] as const)
      await store.put(schedule({ name, dueAt }), null);
    await subject.settled();
    expect(await namesOf(store, { dueAt: 2_999 })).toEqual(["first", "a", "b"]);
    expect(await namesOf(store, { dueAt: 3_000, limit: 2 })).toEqual(["first", "a"]);
    expect(await namesOf(store, { dueAt: 3_000 })).toEqual(["first", "a", "b", "later"]);
    expect(await namesOf(store, { dueAt: -1 })).toEqual([]);
  },

  "schedules of some workflows are listed": async (subject) => {
    const store = subject.schedules();
    for (const workflow of ["loan", "deploy", "other"])
      await store.put(schedule({ name: `of-${workflow}`, workflow }), null);
    await subject.settled();
    const workflow = ["loan", "other"];
    expect(await namesOf(store, { workflow })).toEqual(["of-loan", "of-other"]);
    expect(await namesOf(store, { workflow, dueAt: 5_000 })).toEqual(["of-loan", "of-other"]);
    expect(await namesOf(store, { workflow, limit: 1 })).toEqual(["of-loan"]);
    expect(await namesOf(store, { workflow: [] })).toEqual([]);
  },

  "schedules are no runs": async (subject) => {
    await subject.schedules().put(schedule({ dueAt: 0 }), null);
    expect(await subject.locators()).toEqual([]);
    expect(await subject.due()).toEqual([]);
  },
};

export const scheduleChecks: Checks = { ...writing, ...listing };
