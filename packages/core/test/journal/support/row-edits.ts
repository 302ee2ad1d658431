/**
 * Random edits of every table that is not a journal, by a writer of the storage without the key; and what apps then do. With
 * encryption there is no run, cancel, input or answer that the app did not make.
 */

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createApp, durable, DurableError, type App } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { SqliteStorage } from "@durable/core/sqlite";
import { seeded, type Random } from "@durable/testing";

const keys = { a: Uint8Array.from({ length: 32 }, (_, n) => n * 7 + 1) };
const secret = "only for this test, 32 characters";

const wait = durable("wait", async (ctx, input: string) => [input, await ctx.suspend("go")]);
const other = durable("other", async (ctx, input: string) => [input, await ctx.suspend("go")]);

/** Inputs that the app gave, by run. */
const given: Readonly<Record<string, readonly string[]>> = {
  "v-1": ["private"],
  "v-one": ["private"],
  "v-later": ["private", "moved"],
  "m-1": ["attacker"],
  "m-2": ["attacker"],
  "n-1": ["new"],
  "n-2": ["moved"],
};

export interface RowEdits {
  readonly tried: number;
  readonly ends: Record<string, number>;
  readonly problems: string[];
}

export async function rowEdits({
  count,
  seed,
}: {
  readonly count: number;
  readonly seed: number;
}): Promise<RowEdits> {
  const folder = mkdtempSync(join(tmpdir(), "row-edits-"));
  const ends: Record<string, number> = {};
  const problems: string[] = [];
  let tried = 0;
  try {
    const made = join(folder, "made.db");
    await prepare(made);
    for (; tried < count && problems.length === 0; tried++) {
      const file = join(folder, `${tried}.db`);
      copyFileSync(made, file);
      const edited = edit(file, seeded(seed + tried));
      const { codes, found } = await use(file);
      for (const code of codes.length === 0 ? ["unseen"] : codes) ends[code] = (ends[code] ?? 0) + 1;
      problems.push(...found.map((problem) => `seed ${seed + tried}, ${edited}: ${problem}`));
      for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return { tried, ends, problems };
}

async function withApp<T>(file: string, work: (app: App) => Promise<T>): Promise<T> {
  const storage = new SqliteStorage(file);
  const encryption = aesGcm({ current: "a", keys });
  const app = createApp({ storage, secret, encryption, workflows: [wait, other], patience: 0, bind: false });
  try {
    return await work(app);
  } finally {
    await app.close();
    await storage.close();
  }
}

async function prepare(file: string): Promise<void> {
  await withApp(file, async (app) => {
    const parked = async (workflow: "wait" | "other", id: string, options: object = {}): Promise<void> => {
      const run = await app.start(workflow, given[id]?.[0] ?? "", { id, ...options });
      await run.result().catch(() => {});
    };
    await parked("wait", "v-1");
    await parked("wait", "v-one", { singleton: "key" });
    await parked("wait", "m-1");
    await parked("other", "m-2", { singleton: "key" });
    await app.start("wait", "private", {
      id: "v-later",
      debounce: { key: "key", wait: "30 days" },
      drive: false,
    });
    await app.schedule("yearly", wait, { cron: "0 0 1 1 *", overlap: "cancel", input: "private" });
    await app.schedule("paused", other, { every: "1h", missed: "all", input: "private" });
    await app.schedules.pause("paused");
    await app.pause("other", { reason: "no work today" });
  });
  const database = new DatabaseSync(file);
  database.exec("pragma wal_checkpoint(truncate)");
  database.close();
}

type Cell = string | number | bigint | Uint8Array | null;

/** Changes one or two cells; returns what it did. */
function edit(file: string, random: Random): string {
  const database = new DatabaseSync(file);
  const texts = (sql: string): string[] =>
    database
      .prepare(sql)
      .all()
      .map((row) => String(Object.values(row)[0]));
  const tables = texts("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
    // The journals have an attack of their own.
    .filter(
      (name) => !/batch|blob/.test(name) && database.prepare(`select 1 from "${name}"`).get() !== undefined,
    );
  const done: string[] = [];
  for (let left = random.between(1, 2); left > 0; left--) {
    const table = random.pick(tables);
    const columns = texts(`select name from pragma_table_info('${table}')`);
    const column = random.pick(columns);
    const rows = database.prepare(`select * from "${table}"`).all() as Record<string, Cell>[];
    const row = random.pick(rows);
    const value = changed(
      random,
      row[column] ?? null,
      rows.map((one) => one[column] ?? null),
    );
    try {
      const same = columns.map((name) => `"${name}" is ?`).join(" and ");
      const cells = columns.map((name) => row[name] ?? null);
      database.prepare(`update "${table}" set "${column}" = ? where ${same}`).run(value, ...cells);
      done.push(`${table}.${column} = ${String(value).slice(0, 80)}`);
    } catch {
      done.push(`${table}.${column} keeps its value`);
    }
  }
  database.close();
  return done.join(" and ");
}

function changed(random: Random, value: Cell, others: readonly Cell[]): Cell {
  const text = typeof value === "string" ? value : "";
  return random.pick<() => Cell>([
    () => random.pick(others),
    () => null,
    () => 0,
    () => random.between(0, 2 ** 31),
    () => random.pick(["one key", "debounce key", "wait", "other", "running", "completed", "v-1", "m-1"]),
    () => text.replace(/"paused":(true|false)/, '"paused":false').replace(/"after":\d+/, '"after":0'),
    () => text.replace(/"cron":"[^"]*"/, '"cron":"* * * * *"').replace(/"missed":"\w+"/, '"missed":"all"'),
    () =>
      text.replace(/"pending":null/, '"pending":{"at":0,"runId":"yearly-19700101T000000Z","cancels":"v-1"}'),
    () => text.replace(/"last":null/, '"last":{"at":0,"runId":"v-1"}'),
    () => text.replace(/,?"seal":"[^"]*"/, "").replace(/"after":\d+/, '"after":0'),
    () => text.slice(0, random.between(0, text.length)),
  ])();
}

/** Does what an app does, and compares the journals with what it was given. */
async function use(file: string): Promise<{ readonly codes: string[]; readonly found: string[] }> {
  const codes: string[] = [];
  const found: string[] = [];
  const attempt = async <T>(work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      codes.push(DurableError.is(error) ? error.code : `thrown ${String(error).slice(0, 60)}`);
      return null;
    }
  };
  await attempt(() =>
    withApp(file, async (app) => {
      await attempt(() => app.schedules.fire());
      await attempt(() => app.start("wait", "new", { id: "n-1", singleton: "key", drive: false }));
      const later = { key: "key", wait: "30 days" } as const;
      await attempt(() => app.start("wait", "moved", { id: "n-2", debounce: later, drive: false }));
      await attempt(() => app.sweep());
      const ids = new Set(Object.keys(given));
      for (const { runId } of (await attempt(() => app.list({ limit: 1_000 })))?.runs ?? []) ids.add(runId);
      for (const id of ids) {
        const entries = (await attempt(() => app.get(id).entries())) ?? [];
        for (const entry of entries) {
          const input = "input" in entry && entry.kind.startsWith("run.") ? entry.input : undefined;
          if (input !== undefined && !given[id]?.includes(input as string))
            found.push(`run ${id} has the input ${JSON.stringify(input)}`);
          if (/cancel|answered|resolved|message/.test(entry.kind)) found.push(`run ${id} has ${entry.kind}`);
        }
      }
    }),
  );
  return { codes: codes.filter((code) => code !== "not-found"), found };
}
