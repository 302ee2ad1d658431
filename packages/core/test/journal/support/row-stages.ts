/** Storages whose rows and objects are edited behind their backs: a file of SQLite, and a bucket. */

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { SqliteStorage } from "@durable/core/sqlite";
import type { Random } from "@durable/testing";
import { chapterSum, headSum, sumOf, tagsSum, textSum } from "../../../src/adapters/sqlite/sums.ts";
import { changedCell, changedText, ownedKeys, pickColumn, type Cell, type Stage } from "./row-edits.ts";

export function sqliteStage(): Stage {
  const folder = mkdtempSync(join(tmpdir(), "row-edits-"));
  const [file, kept] = [join(folder, "used.db"), join(folder, "kept.db")];
  return {
    keep: async () => {
      const database = new DatabaseSync(file);
      database.exec("pragma wal_checkpoint(truncate)");
      database.close();
      copyFileSync(file, kept);
    },
    edit: async (random) => {
      for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
      copyFileSync(kept, file);
      const database = new DatabaseSync(file);
      try {
        if (random.chance(0.6)) database.exec("update schedules set due_at = 0; update runs set wake_at = 0");
        const edits = Array.from({ length: random.between(1, 2) }, () => editCell(database, random));
        // Sums are for accidents: an attacker computes them.
        if (random.chance(0.9)) sumAgain(database);
        return edits.join(" and ");
      } finally {
        database.close();
      }
    },
    open: () => new SqliteStorage(file),
    end: async () => rmSync(folder, { recursive: true }),
  };
}

function editCell(database: DatabaseSync, random: Random): string {
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
  const table = random.pick(tables);
  const columns = texts(`select name from pragma_table_info('${table}')`);
  const column = pickColumn(random, columns, (name) => name);
  const rows = database.prepare(`select * from "${table}"`).all() as Record<string, Exclude<Cell, boolean>>[];
  const row = random.pick(rows);
  const others = rows.map((one) => one[column] ?? null);
  const value =
    column === "singleton"
      ? random.pick(ownedKeys)
      : (changedCell(random, row[column] ?? null, others) as Exclude<Cell, boolean>);
  try {
    // A key has one owner.
    if (column === "singleton")
      database.prepare("update runs set singleton = null where singleton = ?").run(value);
    const same = columns.map((name) => `"${name}" is ?`).join(" and ");
    const cells = columns.map((name) =>
      name === "singleton" && row[name] === value ? null : (row[name] ?? null),
    );
    database.prepare(`update "${table}" set "${column}" = ? where ${same}`).run(value, ...cells);
    return `${table}.${column} = ${String(value).slice(0, 80)}`;
  } catch {
    return `${table}.${column} keeps its value`;
  }
}

type Row = Record<string, Exclude<Cell, bigint | boolean | Uint8Array>>;

function sumAgain(database: DatabaseSync): void {
  const all = (table: string): Row[] => database.prepare(`select * from ${table}`).all() as Row[];
  for (const row of all("schedules")) {
    const { name = "", workflow = "", due_at: dueAt = null, version = "", body = "" } = row;
    const sum = sumOf([name, workflow, dueAt, version, body]);
    database.prepare("update schedules set sum = ? where name = ?").run(sum, name);
  }
  for (const row of all("runs")) {
    const pick = (names: string): Row[string][] => names.split(" ").map((name) => row[name] ?? null);
    const locator = String(row["locator"]);
    const state = { length: Number(row["length"]), deleted: row["deleted"] !== 0 };
    const [chapter = null, dropped = null, from = null] = pick("chapter dropped reads_from");
    const [tags = null, version = null] = pick("tags version");
    const sums: Record<string, number> = {
      about_sum: sumOf(pick("locator run_id workflow created_at label parent ancestors")),
      head_sum: headSum(locator, pick("status wake_at updated_at steps"), state),
      chapter_sum: chapterSum(locator, chapter, dropped, from),
      tags_sum: tagsSum(locator, tags, version),
    };
    for (const name of ["blocked", "report", "marks"])
      if ((row[name] ?? null) !== null) sums[`${name}_sum`] = textSum(locator, String(row[name]));
    const set = Object.keys(sums).map((name) => `${name} = ?`);
    const values = [...Object.values(sums), row["id"] ?? null];
    database.prepare(`update runs set ${set.join(", ")} where id is ?`).run(...values);
  }
}

/** Records of logs have a batch, which is the journal, and a state, which is not. */
export function bucketStage(): Stage {
  let bucket = new MemoryBucket();
  let kept: readonly (readonly [string, string])[] = [];
  return {
    keep: async () => void (kept = await contentOf(bucket)),
    edit: async (random) => {
      bucket = new MemoryBucket();
      for (const [key, text] of kept) await bucket.put(key, text);
      const edits: string[] = [];
      for (let left = random.between(1, 2); left > 0; left--) edits.push(await editObject(bucket, random));
      if (random.chance(0.6)) await makeDue(bucket);
      return edits.join(" and ");
    },
    open: () => new RemoteStorage(bucket),
    end: async () => {},
  };
}

/** For each member of states and heads in a bucket and each other kind of value: the bucket where one has it. */
export async function* otherKinds(
  prepared: (stage: Pick<Stage, "open">) => Promise<void>,
): AsyncGenerator<{ readonly edit: string; readonly stage: Pick<Stage, "open"> }> {
  const first = new MemoryBucket();
  await prepared({ open: () => new RemoteStorage(first) });
  const kept = await contentOf(first);
  const seen = new Set<string>();
  for (const [at, text] of kept.toReversed()) {
    if (!/^runs\/.*\/\d{10}$/.test(at)) continue;
    const { state = {} } = JSON.parse(text) as { state?: { head?: object } };
    for (const [part, of] of Object.entries({ state, head: state.head ?? {} }))
      for (const name of Object.keys(of)) {
        if (seen.has(`${part}.${name}`)) continue;
        seen.add(`${part}.${name}`);
        for (const value of [null, 7, "x", true, {}, [], [7], [{}]]) {
          const bucket = new MemoryBucket();
          for (const [key, other] of kept) await bucket.put(key, other);
          const record = JSON.parse(text) as { state: Record<string, unknown> };
          const into = part === "state" ? record.state : (record.state["head"] as Record<string, unknown>);
          into[name] = value;
          await bucket.put(at, JSON.stringify(record));
          await makeDue(bucket);
          const edit = `${part}.${name}: ${JSON.stringify(value)}`;
          yield { edit, stage: { open: () => new RemoteStorage(bucket) } };
        }
      }
  }
}

/** For each kind of object in a bucket: the bucket where it has the text of each other kind. */
export async function* otherTexts(
  prepared: (stage: Pick<Stage, "open">) => Promise<void>,
): AsyncGenerator<{ readonly edit: string; readonly stage: Pick<Stage, "open"> }> {
  const first = new MemoryBucket();
  await prepared({ open: () => new RemoteStorage(first) });
  await new RemoteStorage(first).pause("elsewhere", { workflow: "elsewhere", reason: null, since: 0 });
  const kept = await contentOf(first);
  const kinds = new Map(kept.map(([key, text]) => [key.split("/", 1)[0] ?? "", { key, text }]));
  for (const [kind, { key }] of kinds)
    for (const [other, { text }] of kinds) {
      if (other === kind) continue;
      const bucket = new MemoryBucket();
      for (const [at, own] of kept) await bucket.put(at, at === key ? text : own);
      yield { edit: `${kind}: ${other}`, stage: { open: () => new RemoteStorage(bucket) } };
    }
}

async function makeDue(bucket: MemoryBucket): Promise<void> {
  for (const [key, text] of await contentOf(bucket)) {
    if (key.startsWith("runs/") || key.startsWith("schedule-records/"))
      await bucket.put(key, text.replace(/"(wakeAt|dueAt)":(?:\d+|null)/, '"$1":0'));
    const found = /^index\/suspended\/\d+\.(.*)\.(?:\d{15}|-)(\.[^.]*\.[^.]*)$/.exec(key);
    const never = "0".repeat(15);
    if (found !== null) await bucket.put(`timers/${never}.${never}.${found[1]}.${never}${found[2]}`, "");
  }
}

async function contentOf(bucket: MemoryBucket): Promise<readonly (readonly [string, string])[]> {
  const { keys } = await bucket.list({ prefix: "" });
  return Promise.all(keys.map(async (key) => [key, (await bucket.get(key)) ?? ""] as const));
}

async function editObject(bucket: MemoryBucket, random: Random): Promise<string> {
  const objects = await contentOf(bucket);
  const kinds = [...new Set(objects.map(([key]) => key.split("/", 1)[0]))];
  // Schedules are what a worker believes most.
  const kind = random.pick([...kinds, "schedule-records", "schedule-records"]);
  const alike = objects.filter(([key]) => key.split("/", 1)[0] === kind);
  const [key, text] = random.pick(alike);
  const put = async (at: string, value: string): Promise<string> => {
    await bucket.put(at, value);
    return `${at} = ${value.slice(0, 300)}`;
  };
  if (kind === "runs") return put(key, withState(random, text, random.pick(alike)[1]));
  return random.pick<() => Promise<string>>([
    () =>
      put(
        key,
        String(
          changedCell(
            random,
            text,
            alike.map(([, other]) => other),
          ) ?? "",
        ),
      ),
    () => put(key, changedText(random, text)),
    // Another place: the next record of a schedule, another status, an earlier time, another run.
    () => put(otherKey(random, key, random.pick(objects)[0]), changedText(random, text)),
    () => put(otherKey(random, key, random.pick(objects)[0]), text),
    async () => {
      await bucket.delete([key]);
      return `${key} is gone`;
    },
  ])();
}

function otherKey(random: Random, key: string, other: string): string {
  return random.pick<() => string>([
    () => key.replace(/\d{10}$/, (digits) => String(Number(digits) + 1).padStart(10, "0")),
    () =>
      key.replace(/^index\/\w+/, `index/${random.pick(["running", "completed", "suspended", "blocked"])}`),
    () => key.replaceAll(/\d{15}/g, "0".repeat(15)),
    () => key.replace(/^[^/]*\/[^/.]*/, /^[^/]*\/[^/.]*/.exec(other)?.[0] ?? ""),
    () => `timers/${"0".repeat(15)}.${"0".repeat(15)}.${key.split(".").slice(-6).join(".")}`,
  ])();
}

/** A record whose state says something else: the same member of another run, or any value. */
function withState(random: Random, text: string, other: string): string {
  type Fields = Record<string, unknown>;
  const record = JSON.parse(text) as { state?: Fields & { head?: Fields } };
  const theirs = JSON.parse(other) as typeof record;
  const [into, from] = random.chance(0.6)
    ? [record.state?.head, theirs.state?.head]
    : [record.state, theirs.state];
  if (into === undefined) return text;
  const name = random.pick(Object.keys(into).filter((member) => member !== "head"));
  into[name] = random.pick<() => unknown>([
    () => from?.[name],
    () => null,
    () => random.between(0, 2 ** 31),
    () => random.pick(["running", "completed", "cancelled", "wait", "other", "v-1", "m-1"]),
    () => ({}),
  ])();
  return JSON.stringify(record);
}
