import { MemoryStorage, type Storage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { describe, expect, inject, test } from "vitest";
import { shorten } from "../../core/test/adapters/sqlite/support/traces.ts";
import { memoryFolder, tempFolder } from "../../core/test/support/sqlite-temp.ts";
import { openSchema } from "./support/open.ts";
import { play, type Open } from "./support/programs/play.ts";
import { programOf, type Op } from "./support/programs/plan.ts";

// The server is that of inject("postgres"). PROGRAMS_FROM plays other programs.
const from = process.env["PROGRAMS_FROM"];
const programs = inject("full") ? 500 : 8;
// The sample has every kind of operation, and reaches everything below.
const sample = [1, 30, 31, 41, 61, 68, 79];
const seeds =
  inject("full") || from !== undefined
    ? Array.from({ length: programs }, (_, n) => Number(from ?? 1) + n)
    : sample;
const opsPerProgram = 30;

const close = (): void => {};
const onMemory: Open = (now) => ({ storage: new MemoryStorage({ now }), close });
const onSqlite: Open = (now) => {
  const { path, remove } = tempFolder(memoryFolder);
  const storage = new SqliteStorage({ path, now });
  return { storage, close: () => storage.close().then(remove) };
};
const onPostgres: Open = (now) => {
  const place = openSchema();
  return { storage: place.open({ now, listen: false }), close: place.close };
};

/** Where what the user sees differs first, in words; `null` when it is the same. */
async function differenceOf(
  ops: readonly Op[],
  open: Open,
  note: (seen: readonly string[]) => void = () => {},
): Promise<string | null> {
  const expected = await play(ops, onMemory);
  const found = await play(ops, open);
  note(expected);
  const at = expected.findIndex((line, n) => line !== found[n]);
  if (at !== -1) return `expected: ${expected[at]}\nfound:    ${found[at]}`;
  return expected.length === found.length ? null : `found:    ${found[expected.length]}`;
}

/** What the programs of a sample must have come to: statuses, and kinds of entries. */
const reached =
  "running suspended paused completed failed cancelled run.queued run.forked run.continued run.retried run.paused " +
  "run.unpaused run.failing message.sent suspend.resolved suspend.expired sleep.fired child.completed tag.set";

test.each([
  ["Postgres", onPostgres],
  ["SQLite", onSqlite],
])("generated programs look the same on memory and on %s", { timeout: 1_800_000 }, async (_name, open) => {
  const left = new Set(reached.split(" "));
  const note = (seen: readonly string[]): void => {
    const text = seen.join("\n");
    for (const word of left) if (text.includes(`"${word}"`)) left.delete(word);
  };
  for (const seed of seeds) {
    const ops = programOf(seed, opsPerProgram);
    // Kept from each try: a difference that comes and goes would leave nothing to look at.
    let last = await differenceOf(ops, open, note);
    if (last === null) continue;
    const first = last;
    const shortest = await shorten(ops, async (fewer) => {
      const difference = await differenceOf(fewer, open);
      last = difference ?? last;
      return difference !== null;
    });
    const lines = shortest.map((op) => `  ${JSON.stringify(op)}`).join("\n");
    expect.fail(`Program of seed ${seed}:\n${first}\nThe shortest that differs:\n${lines}\n${last}`);
  }
  expect([...left], "not reached").toEqual([]);
});

describe("generated programs find a storage that", () => {
  const faults: readonly (readonly [string, (good: MemoryStorage) => Partial<Storage>])[] = [
    [
      "gives due runs in another order",
      (good) => ({
        list: async (query = {}) => {
          const page = await good.list(query);
          return query.dueAt === undefined ? page : { ...page, runs: page.runs.toReversed() };
        },
      }),
    ],
    [
      "does not keep singletons apart",
      (good) => ({
        append: (request) => {
          const { singleton: _, ...flow } = request.head.flow ?? {};
          return good.append({ ...request, head: { ...request.head, ...(request.head.flow && { flow }) } });
        },
      }),
    ],
    ["forgets pauses of workflows", () => ({ paused: () => Promise.resolve([]) })],
    ["purges nothing", () => ({ deleteUnchanged: () => Promise.resolve([]) })],
    [
      "refuses positions beyond an int",
      (good) => ({
        read: (locator, from = 0) =>
          from < 2 ** 31 - 1 ? good.read(locator, from) : Promise.reject(new Error("out of range")),
      }),
    ],
    [
      "grants a lease that another has",
      (good) => ({ lease: (at, _owner, ttlMs) => good.lease(at, "me", ttlMs) }),
    ],
  ];

  test.each(faults)("%s", async (_what, fault) => {
    const open: Open = (now) => {
      const good = new MemoryStorage({ now });
      const members = fault(good);
      const storage = new Proxy<Storage>(good, {
        get: (target, name) => {
          const of = Object.hasOwn(members, name) ? members : target;
          const member: unknown = Reflect.get(of, name, of);
          return typeof member === "function" && of === target ? member.bind(target) : member;
        },
      });
      return { storage, close };
    };
    let found = false;
    for (let seed = 1; seed <= 40 && !found; seed++)
      found = (await differenceOf(programOf(seed, opsPerProgram), open)) !== null;
    expect(found).toBe(true);
  });
});
