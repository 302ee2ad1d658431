import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createApp, durable, type RunHead, type Storage } from "@durable/core";
import { Pool } from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { headOf, request } from "./support/head.ts";
import { openSchema } from "./support/open.ts";

const url = inject("postgres");
const leaf = durable("leaf", (ctx, n: number) => ctx.step("work", () => `${n} ${"x".repeat(6_000)}`));
const root = durable("root", async (ctx, n: number) => {
  const text = await ctx.child(leaf, n);
  return ctx.step("end", () => text.length);
});
const secret = "a secret for tests, of no worth";

async function all(storage: Storage): Promise<RunHead[]> {
  const runs: RunHead[] = [];
  for (let cursor: string | null = null; ;) {
    const page = await storage.list({ limit: 1_000, cursor });
    runs.push(...page.runs);
    cursor = page.next;
    if (cursor === null) return runs;
  }
}

function purger(schema: string): {
  child: ChildProcess;
  line: (begins: string) => Promise<void>;
  end: Promise<unknown>;
} {
  const program = fileURLToPath(new URL("./support/purge-child.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=durable-source", program, url, schema], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  let notify = (): void => {};
  child.stdout.on("data", (text) => {
    said += String(text);
    notify();
  });
  const end = new Promise((resolve) => child.once("close", resolve));
  const line = async (begins: string): Promise<void> => {
    while (!said.split("\n").some((one) => one.startsWith(begins)) && child.exitCode === null)
      await Promise.race([new Promise<void>((resolve) => (notify = resolve)), end]);
  };
  return { child, line, end };
}

test("a purge that is killed leaves no half of a family, and the next one goes on", async () => {
  const place = openSchema(url);
  onTestFinished(() => place.close());
  const storage = place.open();
  const families = inject("full") ? 400 : 60;
  await Promise.all(
    Array.from({ length: families }, (_, n) => root.with({ storage, secret }).run(n, { id: `r${n}` })),
  );
  const waiting = durable("root", async (ctx, n: number) => {
    const text = await ctx.child(leaf, n);
    await ctx.suspend("go on");
    return text.length;
  }).with({ storage, secret });
  const fork = await waiting.fork("r7", { from: "end", id: "fork" });
  await expect(fork.result()).rejects.toMatchObject({ code: "suspended" });
  const kills = [
    ["up", 0],
    ["up", 8],
    ["gone", 2],
  ] as const;
  for (const [begins, ms] of inject("full") ? kills : kills.slice(1)) {
    const { child, line, end } = purger(place.schema);
    await line(begins);
    await new Promise((resolve) => setTimeout(resolve, ms));
    child.kill("SIGKILL");
    await end;
    const left = await all(storage);
    const ids = new Set(left.map(({ runId }) => runId));
    expect(left.filter((head) => head.workflow === "leaf" && !ids.has(head.parent ?? ""))).toEqual([]);
  }
  const last = purger(place.schema);
  expect(await last.end).toBe(0);
  expect((await all(storage)).map(({ runId }) => runId)).toEqual(["fork"]);
  const outcome = await fork.outcome();
  if (outcome.status !== "suspended") throw new Error(outcome.status);
  await waiting.resume(outcome.waiting[0]?.token ?? "", "yes");
  expect(await fork.outcome()).toMatchObject({ status: "completed" });
  await createApp({ storage, secret, workflows: [] }).purge({ keep: 0 });
  for (const table of ["runs", "batches", "readers", "blobs", "named"])
    expect(await place.sql(`SELECT count(*)::int AS n FROM S.${table}`), table).toEqual([{ n: 0 }]);
});

test("two purges at once delete each run once, while others append and fork", async () => {
  const place = openSchema(url);
  onTestFinished(() => place.close());
  const handles = [place.open(), place.open()];
  const [storage] = handles as [PostgresStorage, PostgresStorage];
  await Promise.all(
    Array.from({ length: 60 }, (_, n) => root.with({ storage, secret }).run(n, { id: `r${n}` })),
  );
  const apps = handles.map((each) => createApp({ storage: each, secret, workflows: [root, leaf] }));
  const forks = Promise.allSettled(
    Array.from({ length: 20 }, (_, n) =>
      root.with({ storage, secret }).fork(`r${n * 3}`, { from: "end", id: `fork-${n}` }),
    ),
  );
  const purged = await Promise.all(apps.map((app) => app.purge({ olderThan: 0, workflow: "root" })));
  const forked = (await forks).flatMap((fork) => (fork.status === "fulfilled" ? [fork.value] : []));
  // Those that were purged have no result.
  await Promise.allSettled(forked.map((fork) => fork.result()));
  const made = forked.length;
  expect(purged[0]!.runs + purged[1]!.runs).toBeGreaterThanOrEqual(60);
  expect(purged[0]!.children + purged[1]!.children).toBe(60);
  // Every fork that was made has what it reads.
  for (const { runId, status } of await all(storage))
    expect([runId, (await apps[0]!.get(runId).outcome()).status]).toEqual([runId, status]);
  expect(made).toBeGreaterThanOrEqual(0);
});

test.runIf(inject("full"))(
  "tables that are purged and filled again do not grow with the number of cycles",
  async () => {
    // A vacuum keeps what transactions of the same database may still see, so the test has a database of its own.
    const name = `bloat_${process.pid}_${Date.now()}`;
    const admin = new Pool({ connectionString: url, max: 1 });
    await admin.query(`CREATE DATABASE ${name}`);
    const own = new URL(url);
    own.pathname = `/${name}`;
    const pool = new Pool({ connectionString: own.href, max: 4 });
    // A connection that is closing when its database is dropped hears of it, and has no other listener by then.
    pool.on("connect", (client) => client.on("error", () => {}));
    pool.on("error", () => {});
    onTestFinished(async () => {
      await pool.end();
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    });
    const storage = new PostgresStorage({ pool, schema: "durable", listen: false });
    const app = createApp({ storage, secret, workflows: [] });
    const sizes: number[] = [];
    const noise = (n: number): string => Array.from({ length: 400 }, (_, i) => `${n * i * 7_919}`).join(" ");
    for (let cycle = 0; cycle < (inject("full") ? 12 : 3); cycle++) {
      await Promise.all(
        Array.from({ length: 250 }, async (_, n) => {
          const head = { ...headOf(), status: "completed", wakeAt: null, updatedAt: 5 } as const;
          const blobs = [{ name: `blob ${cycle} ${n}`, body: noise(n) }];
          for (let position = 0; position < 3; position++)
            await storage.append({
              ...request(head, position),
              batch: noise(n),
              ...(position === 2 && { blobs }),
            });
        }),
      );
      // As autovacuum would, at this share of deleted rows.
      const { rows } = await pool.query<{ bytes: string }>(
        `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'durable' AND c.relkind = 'r'`,
      );
      sizes.push(Number(rows[0]?.bytes));
      expect(await app.purge({ keep: 0 })).toMatchObject({ runs: 250 });
      for (const table of ["runs", "batches", "blobs", "named", "readers"])
        await pool.query(`VACUUM durable.${table}`);
    }
    expect(sizes[0]).toBeGreaterThan(1_000_000);
    expect(Math.max(...sizes.slice(1)), sizes.join(", ")).toBeLessThan(sizes[0]! * 1.25);
    await storage.close();
  },
);

test("autovacuum comes when a twentieth of a table is gone", async () => {
  const place = openSchema(url);
  onTestFinished(() => place.close());
  await place.open().list();
  const rows = await place.sql<{ name: string; options: string[] }>(
    `SELECT relname AS name, reloptions AS options FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = '${place.schema}' AND relkind = 'r' AND reloptions IS NOT NULL ORDER BY relname`,
  );
  expect(rows.map(({ name }) => name)).toEqual([
    "batches",
    "blobs",
    "chapters",
    "limit_texts",
    "named",
    "readers",
    "runs",
  ]);
  for (const { name, options } of rows)
    expect(options, name).toContain("autovacuum_vacuum_scale_factor=0.05");
});
