import type { ListQuery } from "@durable/core";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { freshSchema } from "./support/open.ts";

const schema = freshSchema();
const url = inject("postgres");
const waiting = 20_000;
const locator = (n: number): string => `l${String(n).padStart(17, "0")}`;
const day = 86_400_000;

/** The plans of all statements since the last look, those inside of functions included. */
let plans: string[] = [];
let pool: Pool;
let storage: PostgresStorage;

const explain = [
  "session_preload_libraries=auto_explain",
  "auto_explain.log_min_duration=0",
  "auto_explain.log_nested_statements=on",
  "auto_explain.log_level=notice",
  "auto_explain.log_analyze=on",
];

/** 20,000 runs that wait for a day, 200 that are driven, 50 that are due, 50 whose driver has gone. */
const fill = `
  INSERT INTO S.runs (locator, run_id, workflow, ancestors, created_at, status, wake_at, due_order, asleep, updated_at, steps, length,
      parent, owner, process, lease_until, held, held_until)
    SELECT 'l' || lpad(n::text, 17, '0'), 'run ' || n, CASE WHEN n % 7 = 0 THEN 'mail' ELSE 'loan' END, '[]', n,
      CASE WHEN kind = 'waits' THEN 'suspended' ELSE 'running' END,
      CASE WHEN kind = 'waits' THEN now + ${day} ELSE 0 END, CASE WHEN kind = 'waits' THEN now + ${day} ELSE n END, kind = 'waits', n, 3, 4,
      CASE WHEN n % 100 = 0 THEN 'family' END,
      CASE WHEN kind IN ('driven', 'gone') THEN 'owner' END, CASE WHEN kind IN ('driven', 'gone') THEN 'elsewhere|1|2' END,
      until, until IS NOT NULL, until
    FROM (SELECT *, CASE kind WHEN 'driven' THEN now + 60000 WHEN 'gone' THEN now - 60000 END AS until
      FROM (SELECT n, extract(epoch FROM now())::float8 * 1000 AS now,
        CASE WHEN n <= ${waiting} THEN 'waits' WHEN n <= ${waiting} + 200 THEN 'driven'
          WHEN n <= ${waiting} + 250 THEN 'due' ELSE 'gone' END AS kind
        FROM generate_series(1, ${waiting} + 300) AS n) AS k) AS made;
  INSERT INTO S.batches (run, position, body) SELECT id, p, '[]' FROM S.runs, generate_series(0, 3) AS p;
  UPDATE S.runs SET version = CASE WHEN created_at > ${waiting} THEN '2' ELSE '1' END,
    tags = json_build_object('customer', 'c' || created_at::int % 5000, 'team', 'red')::text;
  INSERT INTO S.tags (name, value, run) SELECT 'customer', 'c' || created_at::int % 5000, id FROM S.runs
    UNION ALL SELECT 'team', 'red', id FROM S.runs;`;

beforeAll(async () => {
  const options = explain.map((setting) => `-c ${setting}`).join(" ");
  pool = new Pool({ connectionString: url, options, max: 3, allowExitOnIdle: true });
  pool.on("connect", (client) => {
    client.on("notice", ({ message = "" }) => void plans.push(message));
  });
  storage = new PostgresStorage({ pool, schema, listen: false });
  await storage.list();
  await pool.query(fill.replaceAll("S.", `${schema}.`));
});

afterAll(async () => {
  await storage.close();
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
});

const headOf = async (n: number) => (await storage.read(locator(n))).head!;

/** Aborts a wait a little after its first query was seen: how long that takes depends on the machine. */
function signal(): AbortSignal {
  const controller = new AbortController();
  const look = (seen: number): void =>
    void setTimeout(() => {
      if (seen > 0) controller.abort();
      else look(plans.length);
    }, 50);
  look(0);
  return controller.signal;
}

/** Each hot query, and the indexes that it must use. */
const queries: Readonly<Record<string, readonly [() => Promise<unknown>, ...string[]]>> = {
  append: [
    async () => {
      const head = await headOf(7);
      await storage.append({
        locator: head.locator,
        position: (await storage.read(head.locator)).length,
        batch: "[]",
        head,
      });
    },
    "runs_locator_key",
  ],
  "append of a group": [
    () =>
      Promise.all(
        [21, 22, 23].map(async (n) => {
          const head = await headOf(n);
          const position = (await storage.read(head.locator)).length;
          const blobs = n === 23 ? [{ name: "a blob", body: "its body" }] : [];
          await storage.append({ locator: head.locator, position, batch: "[]", head, blobs, lease: null });
        }),
      ),
    "runs_locator_key",
  ],
  read: [() => storage.read(locator(9)), "runs_locator_key", "batches_pkey"],
  "read of a chapter": [() => storage.readChapter(locator(9)), "runs_locator_key", "batches_pkey"],
  lease: [() => storage.lease(locator(11), "a", 60_000), "runs_locator_key"],
  release: [() => storage.release(locator(11), "a"), "runs_locator_key"],
  note: [
    () => storage.note(locator(12), { code: "c", message: "m", since: 1, length: 4 }),
    "runs_locator_key",
  ],
  "due list": [
    () => storage.list({ dueAt: Date.now(), workflow: ["loan", "mail"], limit: 20 }),
    "runs_waiting",
    "runs_held",
  ],
  "due list of all workflows": [
    () => storage.list({ dueAt: Date.now(), limit: 20 }),
    "runs_waiting",
    "runs_held",
  ],
  claim: [
    () => storage.claim({ workflow: ["loan", "mail"], dueAt: Date.now(), limit: 10, quietMs: 1_000 }),
    "runs_waiting",
    "runs_held",
  ],
  "next due run": [() => storage.whenDue(["nothing", "loan"], signal()), "runs_waiting", "runs_held"],
  changed: [() => storage.changed(locator(13), 100, signal()), "runs_locator_key"],
  "list, newest first": [() => storage.list({ limit: 20 }), "runs_pkey"],
  "list of a workflow": [() => storage.list({ workflow: "mail", limit: 20 }), "runs_by_workflow"],
  "list of a status": [() => storage.list({ status: "failed", limit: 20 }), "runs_by_workflow"],
  "list of open runs": [() => storage.list({ status: "suspended", limit: 20 }), "runs_by_workflow"],
  "list of both": [() => storage.list({ status: "failed", workflow: "loan", limit: 20 }), "runs_by_workflow"],
  "list of an unknown workflow": [() => storage.list({ workflow: "unknown", limit: 20 }), "runs_by_workflow"],
  "list of blocked runs": [() => storage.list({ status: "blocked", limit: 20 }), "runs_blocked"],
  "list of a family": [() => storage.list({ parent: "family", limit: 20 }), "runs_by_parent"],
  "list of families": [
    () => storage.list({ parent: ["family", "other", "third"], limit: 20 }),
    "runs_by_parent",
  ],
  "list by end": [() => storage.list({ endedBefore: Date.now(), limit: 20 }), "runs_ended"],
  "list of a status and workflow by end": [
    () => storage.list({ endedBefore: Date.now(), status: "completed", workflow: "loan", limit: 20 }),
    "runs_ended",
  ],
  "delete of unchanged runs": [
    async () =>
      storage.deleteUnchanged(
        [await headOf(32), await headOf(33)].map((head) => ({ ...head, status: "failed" })),
      ),
    "runs_locator_key",
  ],
  "list of a tag": [() => storage.list({ tags: { customer: "c77" }, limit: 20 }), "tags_pkey", "runs_pkey"],
  "list of a tag that all runs have": [() => storage.list({ tags: { team: "red" }, limit: 20 }), "tags_pkey"],
  "list of two tags": [
    () => storage.list({ tags: { customer: "c78", team: "red" }, limit: 20 }),
    "tags_pkey",
  ],
  "list of a time": [() => storage.list({ createdAfter: 40, createdBefore: 60, limit: 20 }), "runs_pkey"],
  "list of a time and a workflow": [
    () => storage.list({ workflow: "mail", createdAfter: 40, createdBefore: 60, limit: 20 }),
  ],
  "list of a text": [
    () => storage.list({ q: "c4999", limit: 20 }),
    "runs_by_run_id",
    "runs_by_label",
    "tags_by_value",
  ],
  "list of a version": [() => storage.list({ version: "none", limit: 20 }), "runs_by_version"],
  "claim of a version": [
    () =>
      storage.claim({
        workflow: ["loan"],
        version: ["2", "3"],
        dueAt: Date.now(),
        limit: 10,
        quietMs: 1_000,
      }),
    "runs_waiting_by_version",
  ],
  "next due run of a version": [
    () => storage.whenDue(["nothing", "loan"], signal(), ["9"]),
    "runs_waiting_by_version",
  ],
  "runs of a time": [() => storage.during({ by: "created", after: 40, before: 60, limit: 20 }), "runs_pkey"],
  "the newest runs of a long time": [
    () => storage.during({ by: "created", after: 40, before: Date.now(), limit: 20 }),
    "runs_pkey",
  ],
  delete: [() => storage.delete(locator(31)), "runs_locator_key"],
};

describe.each(["as they were when the tables were empty", "with statistics of the full tables"])(
  `hot queries on ${waiting} waiting runs, with plans %s`,
  (state) => {
    beforeAll(async () => {
      if (state.startsWith("with")) await pool.query(`ANALYZE ${schema}.runs; ANALYZE ${schema}.batches`);
    });

    test.each(Object.keys(queries))("%s scans no table", async (name) => {
      const [ask, ...indexes] = queries[name]!;
      // More often than Postgres tries special plans before it keeps a general one.
      for (let times = 0; times < 7; times++) {
        plans = [];
        await ask();
        const text = plans.join("\n");
        expect(plans.length, "plans were seen").toBeGreaterThan(0);
        expect(text).not.toMatch(/Seq Scan on/);
        // An index that leads to rows which are then thrown away is no better than a scan.
        for (const [, count] of text.matchAll(/Rows Removed by Filter: (\d+)/g))
          expect(Number(count), text).toBeLessThan(1_000);
        for (const index of indexes) expect(text).toContain(index);
      }
    });
  },
);

describe("a search for a text that very many runs have", () => {
  const old = 10_050;
  beforeAll(async () => {
    await pool.query(`UPDATE ${schema}.runs SET label = 'old one' WHERE created_at <= ${old}`);
  });
  /** The most rows that any part of a plan gave. */
  const mostRows = (): number =>
    Math.max(...[...plans.join("\n").matchAll(/actual[^)]*rows=(\d+)/g)].map(([, rows]) => Number(rows)));
  const numbersOf = ({ runs }: { readonly runs: readonly { readonly runId: string }[] }): number[] =>
    runs.map(({ runId }) => Number(runId.slice(4)));

  test.each(["run ", "r", ""])(
    "%o: a page is full, and no part of it reads more than its bound",
    async (q) => {
      plans = [];
      const page = await storage.list({ q, limit: 20 });
      const numbers = numbersOf(page);
      expect([numbers.length, page.partial]).toEqual([20, undefined]);
      expect(numbers).toEqual(numbersOf(await storage.list({ limit: 20 })));
      expect(mostRows()).toBeLessThanOrEqual(10_001);
      const next = await storage.list({ q, limit: 20, cursor: page.next });
      expect(Math.max(...numbersOf(next))).toBeLessThan(Math.min(...numbers));
    },
  );

  test("a page of old runs stops, says so, and the next goes on; the pages have every run once", async () => {
    const [seen, partial]: [number[], boolean[]] = [[], []];
    for (let cursor: string | null | undefined; cursor !== null;) {
      plans = [];
      const page = await storage.list({ q: "old", limit: 1_000, cursor });
      expect(mostRows()).toBeLessThanOrEqual(10_001);
      seen.push(...numbersOf(page));
      partial.push(page.partial === true);
      cursor = page.next;
    }
    expect(partial.slice(0, 2)).toEqual([true, false]);
    const expected = await pool.query(
      `SELECT created_at AS id FROM ${schema}.runs WHERE label = 'old one' AND NOT deleted ORDER BY id DESC`,
    );
    expect(seen).toEqual(expected.rows.map(({ id }) => Number(id)));
  });

  test("a text that few runs have is found at once", async () => {
    const page = await storage.list({ q: "c4999", limit: 20 });
    expect([page.runs.length, page.next, page.partial]).toEqual([4, null, undefined]);
  });

  test("a row whose tags are damaged hides no other run", async () => {
    await pool.query(`UPDATE ${schema}.runs SET tags = '{"who":' WHERE created_at = 20290`);
    const page = await storage.list({ q: "run ", limit: 20 });
    expect(page.runs.find(({ runId }) => runId === "run 20290")?.blocked?.code).toBe("corrupt");
    expect(page.runs.length).toBe(20);
  });
});

describe("a list of a time that very many runs have", () => {
  /** The most rows that any part of a plan gave or threw away. */
  const most = (): number =>
    Math.max(
      ...[...plans.join("\n").matchAll(/(?:actual[^)]*rows=|Filter: )(\d+)/g)].map(([, rows]) =>
        Number(rows),
      ),
    );

  const queries: readonly (readonly [string, ListQuery])[] = [
    ["all workflows", {}],
    ["a workflow", { workflow: "loan" }],
    ["a status", { status: "suspended" }],
    ["two workflows and a status", { workflow: ["loan", "mail"], status: "suspended" }],
  ];
  test.each(queries)("%s: it stops when the page is full", async (_, query) => {
    for (const time of [
      { createdAfter: 40 },
      { createdBefore: 12_000 },
      { createdAfter: 40, createdBefore: 12_000 },
    ]) {
      const seen: number[] = [];
      for (let page = await storage.list({ ...query, ...time, limit: 20 }); ;) {
        seen.push(...page.runs.map(({ createdAt }) => createdAt));
        plans = [];
        if (seen.length >= 60) break;
        page = await storage.list({ ...query, ...time, limit: 20, cursor: page.next });
        expect(most(), plans.join("\n")).toBeLessThan(600);
        expect(most()).toBeGreaterThanOrEqual(20);
      }
      const top = (await storage.list({ ...query, limit: 1 })).runs[0]?.createdAt ?? 0;
      const from = Math.min(top, (time.createdBefore ?? Infinity) - 1);
      const times = Array.from({ length: 120 }, (_unused, n) => from - n);
      const all = times.filter((at) => query.workflow !== "loan" || at % 7 !== 0).slice(0, 60);
      expect(seen).toEqual(all);
    }
  });
});

describe("counts of what has not ended, where nearly all runs have ended", () => {
  beforeAll(async () => {
    await pool.query(`UPDATE ${schema}.runs SET status = (ARRAY['completed', 'failed', 'cancelled'])[created_at::int % 3 + 1],
      wake_at = NULL, due_order = NULL, asleep = false WHERE created_at <= ${waiting - 1_000}`);
  });

  test.each(["before", "after"])("read rows of open runs alone, %s an ANALYZE", async (when) => {
    if (when === "after") await pool.query(`VACUUM ANALYZE ${schema}.runs`);
    const open = Number((await pool.query(`SELECT FROM ${schema}.runs WHERE ended_at IS NULL`)).rowCount);
    plans = [];
    const counted = await storage.tally(Date.now());
    expect(counted.reduce((sum, { runs }) => sum + runs, 0)).toBe(open);
    const text = plans.join("\n");
    expect(text).not.toMatch(/Seq Scan on/);
    expect(text).toContain("runs_by_workflow");
    const read = [...text.matchAll(/ on runs(?: \w+)? {2}\(.*actual[^)]*rows=([\d.]+) loops=(\d+)/g)];
    const rows = read.reduce((sum, [, each, loops]) => sum + Number(each) * Number(loops), 0);
    expect(rows, text).toBeGreaterThanOrEqual(open);
    // A few more to go from one workflow to the next.
    expect(rows, text).toBeLessThan(open + 20);
    expect(text).not.toMatch(/Rows Removed by Filter: \d{3}/);
  });
});

test("a scan would be found", async () => {
  plans = [];
  await pool.query(`SELECT count(*) FROM ${schema}.runs WHERE steps = 9`);
  expect(plans.join("\n")).toMatch(/Seq Scan on/);
});
