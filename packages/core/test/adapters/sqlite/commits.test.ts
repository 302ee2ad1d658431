import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { durable } from "../../../src/index.ts";
import type { AppendRequest } from "../../../src/storage.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { listText } from "../../../src/adapters/sqlite/list-text.ts";
import { statements } from "../../../src/adapters/sqlite/statements.ts";
import { headOf, request } from "./support/samples.ts";
import { spyOnDatabases, sqliteError, type DatabaseSpy } from "./support/spy.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;
let spy: DatabaseSpy;
let storage: SqliteStorage;
/** What the next execution of a text throws. */
let failures: { text: string; error: Error }[] = [];

beforeEach(() => {
  temp = tempFolder();
  failures = [];
  spy = spyOnDatabases((text) => {
    const failure = failures.find((one) => one.text === text);
    if (failure === undefined) return text;
    failures = failures.filter((one) => one !== failure);
    throw failure.error;
  });
  storage = new SqliteStorage(temp.path);
});
afterEach(async () => {
  spy.restore();
  await storage.close();
  temp.remove();
});

/** How many commits the work took. */
async function counted(work: () => Promise<unknown>): Promise<number> {
  const before = storage.commits;
  await work();
  return storage.commits - before;
}

async function codes(writes: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(writes);
  return settled.map((result) => (result.status === "fulfilled" ? "done" : result.reason.code));
}

describe("group commit, counted", () => {
  const flow = durable("count", async (ctx, steps: number) => {
    for (let n = 0; n < steps; n++) await ctx.step("step", () => n);
  });

  it.each([0, 1, 7, 20])(
    "a run of %i steps, one after the other, makes one commit for each",
    async (steps) => {
      const made = await counted(() => flow.with({ storage }).run(steps));
      expect(made).toBe(steps + 2);
    },
  );

  it("while a single run appends, its writes wait for no turn of the event loop; those of two runs share a commit", async () => {
    const waits = async (runId: string, position: number): Promise<boolean> => {
      let turned = false;
      setImmediate(() => (turned = true));
      await storage.append(request(runId, position));
      return turned;
    };
    expect(await waits("a", 0)).toBe(true);
    expect(await waits("a", 1)).toBe(false);
    expect(await waits("a", 2)).toBe(false);
    expect(await waits("b", 0)).toBe(true);
    expect(await counted(() => Promise.all([waits("a", 3), waits("b", 1)]))).toBe(1);
    expect(await waits("a", 4)).toBe(true);
  });

  it("100 runs in flight share their commits: at most one for every 20 steps", async () => {
    const bound = flow.with({ storage });
    const made = await counted(() => Promise.all(Array.from({ length: 100 }, () => bound.run(6))));
    expect(made).toBeLessThanOrEqual((100 * 6) / 20);
    expect((await storage.list({ status: "completed", limit: 200 })).runs).toHaveLength(100);
  });

  it("a replay makes none", async () => {
    const bound = flow.with({ storage });
    await bound.run(5, { id: "once" });
    expect(await counted(() => bound.run(5, { id: "once" }))).toBe(0);
  });

  it("one commit takes 2,000 writes, and the rest follow", async () => {
    const made = await counted(() =>
      Promise.all(Array.from({ length: 4_500 }, (_, n) => storage.append(request(`run${n}`, 0)))),
    );
    expect(made).toBe(3);
  });
});

describe("a commit in which something fails", () => {
  it("is not disturbed by a refusal", async () => {
    await storage.append(request("one", 0));
    const writes = (): Promise<string[]> =>
      codes([
        storage.append(request("two", 0)),
        storage.append(request("one", 5)),
        storage.append(request("one", 1)),
        storage.append(request("one", 1)),
        storage.append(request("three", 0)),
      ]);
    const before = storage.commits;
    expect(await writes()).toEqual(["done", "conflict", "done", "conflict", "done"]);
    expect(storage.commits - before).toBe(1);
  });

  it("goes again without the write whose own fault it was", async () => {
    const broken: AppendRequest = { ...request("broken", 0), batch: Symbol("no text") as unknown as string };
    const fraction = { ...request("half", 0), head: headOf("half", { steps: 1.5 }) };
    const before = storage.commits;
    expect(
      await codes([
        storage.append(request("one", 0)),
        storage.append(broken),
        storage.append(request("two", 0)),
        storage.append(fraction),
        storage.append(request("one", 1)),
      ]),
    ).toEqual(["done", "storage-failed", "done", "storage-failed", "done"]);
    expect(storage.commits - before).toBe(1);
    expect((await storage.list()).runs.map(({ locator }) => locator)).toEqual(["two", "one"]);
  });

  it("never shows batches that a run does not have: they are damage", async () => {
    const other = new DatabaseSync(temp.path);
    other.exec(
      "INSERT INTO batches (locator, position, body, sum) VALUES ('one', 0, 'stray', 0), ('two', 1, 'stray', 0)",
    );
    other.close();
    expect(await codes([storage.append(request("one", 0)), storage.append(request("two", 0))])).toEqual([
      "storage-failed",
      "done",
    ]);
    expect(await codes([storage.read("one"), storage.read("two")])).toEqual(["corrupt", "corrupt"]);
  });

  it("is rolled back whole when the disk fails, and the next one works", async () => {
    await storage.append(request("one", 0));
    failures = [{ text: "COMMIT", error: sqliteError(1034, "fsync failed") }];
    expect(await codes([storage.append(request("one", 1)), storage.append(request("two", 0))])).toEqual([
      "storage-failed",
      "storage-failed",
    ]);
    expect((await storage.read("one")).length).toBe(1);
    expect((await storage.read("two")).length).toBe(0);
    expect(await codes([storage.append(request("one", 1)), storage.append(request("two", 0))])).toEqual([
      "done",
      "done",
    ]);
  });

  it("does not block all that follow when even its rollback failed", async () => {
    failures = [
      { text: "COMMIT", error: sqliteError(10) },
      { text: "ROLLBACK", error: sqliteError(10) },
    ];
    const write = (): Promise<string[]> => codes([storage.append(request("one", 0))]);
    expect(await write()).toEqual(["storage-failed"]);
    expect(await write()).toEqual(["storage-failed"]);
    expect(await write()).toEqual(["done"]);
    expect((await storage.read("one")).batches).toEqual(["one 0"]);
  });

  it("does not make a workflow run its step again: the same batch is written once more", async () => {
    let calls = 0;
    const flow = durable(
      "again",
      async (ctx) => {
        await ctx.step("call", () => {
          calls += 1;
          failures = [{ text: "COMMIT", error: sqliteError(10) }];
        });
      },
      { storage },
    );
    const outcome = await flow.run();
    expect(outcome.status).toBe("completed");
    expect(calls).toBe(1);
  });
});

describe("lists walk an index and sort nothing (H69)", () => {
  it.each([
    [{ workflow: "a" }, "runs_by_workflow"],
    [{ status: "failed", cursor: "1:2" }, "runs_by_status"],
    [{ parent: "x" }, "runs_by_parent"],
    [{ cursor: "1:2" }, "PRIMARY KEY"],
    [{ dueAt: 1, workflow: "a", fair: "" }, "runs_due_in_order (workflow=? AND fair=?)"],
    [
      { dueAt: 1, workflow: "a", fair: "", status: "running", cursor: "1.5:2" },
      "runs_due_in_order (workflow=? AND fair=?",
    ],
    [{ dueAt: 1, workflow: "a", fair: "k", status: "blocked" }, "runs_due_in_order (workflow=? AND fair=?"],
    [{ status: "blocked", cursor: "1:2" }, "runs_blocked"],
    [{ status: "blocked", workflow: "a", cursor: "1:2" }, "runs_blocked"],
  ] as const)("%o", (query, index) => {
    const { text, values } = listText(query, { now: 1, dead: [] });
    const plan = spy.last.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values, 10);
    const details = plan.map(({ detail }) => String(detail)).join("; ");
    expect(details).toContain(`SEARCH runs USING`);
    expect(details).toContain(index);
    expect(details).not.toContain("TEMP B-TREE");
  });

  it("and those of some workflows read no due run of another, nor do the drivers that may be dead", async () => {
    for (const run of ["one", "two"])
      await storage.append({ ...request(run, 0), head: headOf(run, { workflow: "a" }) });
    const { driversOf } = statements(spy.last);
    const prepare = spy.last.prepare.bind(spy.last);
    const prepared: string[] = [];
    spy.last.prepare = (text) => {
      prepared.push(text);
      return prepare(text);
    };
    // The second workflow is asked only for what may come before the end of the page.
    for (const cursor of [null, "0:0"])
      await storage.list({ dueAt: 5, workflow: ["a", "b"], limit: 1, cursor });
    expect(prepared.length).toBeGreaterThan(3);
    for (const text of [...prepared, driversOf.sourceSQL]) {
      const [plan] = prepare(`EXPLAIN QUERY PLAN ${text}`).all();
      expect(String(plan?.["detail"])).toMatch(
        /SEARCH runs USING (COVERING )?INDEX runs_(due_in_order|asleep|driven) \(workflow=\?/,
      );
    }
  });

  it("no statement has a parameter with a number, which Node 22 does not bind", () => {
    const prepared = Object.values(statements(spy.last)).filter((each) => typeof each !== "function");
    expect(prepared.length).toBeGreaterThan(40);
    for (const { sourceSQL } of prepared) expect(sourceSQL).not.toMatch(/\?\d/);
  });

  it("nor does any other statement walk over a table", () => {
    const plans = Object.entries(statements(spy.last)).flatMap(([name, statement]) =>
      typeof statement === "function"
        ? []
        : spy.last
            .prepare(`EXPLAIN QUERY PLAN ${statement.sourceSQL}`)
            .all()
            .map(({ detail }) => `${name}: ${String(detail)}`),
    );
    expect(plans.length).toBeGreaterThan(10);
    // `json_each` has dead processes. All of `paused_workflows` and `spent` is read, and all due runs with a slot are counted.
    // A tally groups the runs that its indexes gave.
    const whole =
      /SCAN (json_each|paused_workflows|spent|CONSTANT ROW)|^(due|held)InSlots: |^tally: SCAN \(subquery-\d\)$/;
    expect(plans.filter((plan) => plan.includes("SCAN") && !whole.test(plan))).toEqual([]);
  });
});
