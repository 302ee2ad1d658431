/** Journals that are kept for the next message or answer: which are opened, which are kept, and which are dropped. */

import { describe, expect, test } from "vitest";
import type { RunJournal } from "../../src/journal/journal.ts";
import { RecentJournals } from "../../src/runs/parked.ts";

interface Given {
  readonly size?: number;
  readonly ended?: boolean;
  readonly gone?: boolean;
  readonly broken?: boolean;
}

/** What `RecentJournals` asks of a journal. */
function journal(locator: string, { size = 1, ended = false, gone = false, broken = false }: Given = {}) {
  const asked = { refreshed: 0 };
  const one = {
    locator,
    size,
    exists: !gone,
    state: { end: ended ? {} : null },
    refresh: async () => {
      asked.refreshed += 1;
      if (broken) throw new Error("connection reset");
    },
  };
  return { journal: one as unknown as RunJournal, asked };
}

/** Asks for these runs, one after the other; says for which of them a journal was opened. */
async function openedOf(recent: RecentJournals, runs: readonly string[]): Promise<string> {
  let opened = "";
  for (const run of runs) {
    const found = await recent.takeOrOpen(run, async () => journal(run).journal);
    opened += found === null ? "-" : run;
  }
  return opened;
}

describe("a run that is asked for", () => {
  test.each([
    ["once", 10, "a", "-"],
    ["twice in a row", 10, "aa", "-a"],
    ["three times in a row", 10, "aaa", "-aa"],
    ["again after another", 10, "aba", "---"],
    ["in a row after another", 10, "baa", "--a"],
    ["twice in a row where nothing is kept", 0, "aa", "--"],
  ])("%s is opened when it may be asked for often", async (_, limit, runs, expected) => {
    expect(await openedOf(new RecentJournals(limit), runs.split(""))).toBe(expected);
  });
});

describe("a journal that was kept", () => {
  test("is taken once, brought up to date", async () => {
    const recent = new RecentJournals(10);
    const { journal: kept, asked } = journal("a");
    recent.keep(kept);
    expect(asked.refreshed).toBe(0);
    expect(await recent.take("b")).toBeNull();
    expect(await recent.take("a")).toBe(kept);
    expect(asked.refreshed).toBe(1);
    expect(await recent.take("a")).toBeNull();
  });

  test.each<[string, Given]>([
    ["whose run has ended", { ended: true }],
    ["whose run is gone", { gone: true }],
    ["that cannot be brought up to date", { broken: true }],
  ])("is not given when it is one %s", async (_, given) => {
    const recent = new RecentJournals(10);
    recent.keep(journal("a", given).journal);
    expect(await recent.take("a")).toBeNull();
    expect(await recent.take("a")).toBeNull();
  });
});

describe("of many journals, those used longest ago are dropped", () => {
  const mebi = 1024 * 1024;

  test.each([
    ["beyond the limit", 2, [1, 1, 1], "bc"],
    ["at the limit", 3, [1, 1, 1], "abc"],
    ["with a limit of none", 0, [1, 1, 1], ""],
    ["beyond 16 million characters", 10, [8 * mebi, 8 * mebi, 1], "bc"],
    ["at 16 million characters", 10, [8 * mebi, 4 * mebi, 4 * mebi], "abc"],
    ["with one that is too large by itself", 10, [1, 1, 17 * mebi], ""],
  ])("%s", async (_, limit, sizes, expected) => {
    const recent = new RecentJournals(limit);
    const names = ["a", "b", "c"];
    for (const [n, size] of sizes.entries()) recent.keep(journal(names[n] as string, { size }).journal);
    const left: string[] = [];
    for (const name of names) if ((await recent.take(name)) !== null) left.push(name);
    expect(left.join("")).toBe(expected);
  });

  test("and one that was used again is not the oldest", async () => {
    const recent = new RecentJournals(2);
    const { journal: a } = journal("a");
    recent.keep(a);
    recent.keep(journal("b").journal);
    recent.keep((await recent.take("a")) as RunJournal);
    recent.keep(journal("c").journal);
    expect(await recent.take("b")).toBeNull();
    expect(await recent.take("a")).toBe(a);
  });
});
