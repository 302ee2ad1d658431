/**
 * A build of the library that knows schema 3 and none of its additions, reduced to what it does to the file. The texts
 * of its statements are copies: they must not follow those of the present build.
 */

import { DatabaseSync } from "node:sqlite";
import type { AppendRequest } from "../../../../src/ports/storage.ts";
import { batchSum, blobSum, headSum, sumOf } from "../../../../src/adapters/sqlite/sums.ts";
import { migrate, migrations } from "../../../../src/adapters/sqlite/schema.ts";

type Row = Record<string, string | number | null>;

const grown = `UPDATE runs SET status = ?, wake_at = ?, updated_at = ?, steps = ?, head_sum = ?, length = length + 1, quiet_until = 0`;
const unmoved = "WHERE locator = ? AND length = ? AND created_at = ? AND deleted = 0";

export class PlainBuild {
  readonly database: DatabaseSync;

  constructor(path: string) {
    this.database = new DatabaseSync(path);
    this.database.exec("PRAGMA journal_mode = wal; PRAGMA busy_timeout = 1000");
    migrate(this.database, path, migrations, []);
  }

  #get(text: string, ...values: (string | number | null)[]): Row | undefined {
    return this.database.prepare(text).get(...values) as Row | undefined;
  }

  #run(text: string, ...values: (string | number | null)[]): number {
    return Number(this.database.prepare(text).run(...values).changes);
  }

  append({ locator, position, batch, blobs = [], head }: AppendRequest): void {
    const folded = [head.status, head.wakeAt, head.updatedAt, head.steps];
    const fold = [...folded, headSum(locator, folded, { length: position + 1, deleted: false })];
    const { runId, workflow, createdAt, label, parent, ancestors } = head;
    const about = [locator, runId, workflow, createdAt, label, parent, JSON.stringify(ancestors)];
    this.database.exec("BEGIN IMMEDIATE");
    try {
      const changes =
        position === 0
          ? this.#run(
              `INSERT INTO runs (locator, run_id, workflow, created_at, label, parent, ancestors,
                 about_sum, status, wake_at, updated_at, steps, head_sum, owner, process, lease_until, length)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, 1) ON CONFLICT (locator) DO NOTHING`,
              ...about,
              sumOf(about),
              ...fold,
            )
          : this.#run(`${grown} ${unmoved}`, ...fold, locator, position, createdAt);
      if (changes === 0) throw new Error("conflict");
      const names = blobs.filter(({ name, body }) => {
        if (body !== undefined && this.#get("SELECT 1 FROM blobs WHERE name = ?", name) === undefined)
          this.#run("INSERT INTO blobs (name, body, sum) VALUES (?, ?, ?)", name, body, blobSum(name, body));
        const insert = "INSERT OR IGNORE INTO named (name, locator, position) VALUES (?, ?, ?)";
        return this.#run(insert, name, locator, position) === 1;
      });
      const sum = batchSum(
        locator,
        position,
        batch,
        names.map(({ name }) => name),
      );
      const column = names.length === 0 ? "sum" : "named_sum";
      const insert = `INSERT INTO batches (locator, position, body, ${column}) VALUES (?, ?, ?, ?)`;
      this.#run(insert, locator, position, batch, sum);
      const addReader = "INSERT OR IGNORE INTO readers (ancestor, reader) VALUES (?, ?)";
      if (position === 0) for (const ancestor of ancestors) this.#run(addReader, ancestor, locator);
      this.database.exec("COMMIT");
    } catch (error) {
      this.database.exec("ROLLBACK");
      throw error;
    }
  }

  /** The batches of a journal; throws when it has gaps or a sum is wrong. */
  read(locator: string): string[] {
    const run = this.#get("SELECT * FROM runs WHERE locator = ?", locator);
    const batches = this.database
      .prepare(
        "SELECT position, body, ifnull(sum, named_sum) AS sum FROM batches WHERE locator = ? AND position >= ? ORDER BY position",
      )
      .all(locator, 0) as Row[];
    const blobs = this.database
      .prepare(
        `SELECT position, named.name, body, sum FROM named LEFT JOIN blobs ON blobs.name = named.name
           WHERE locator = ? AND position >= ? ORDER BY position`,
      )
      .all(locator, 0) as Row[];
    if (batches.length !== Number(run?.["length"] ?? 0)) throw new Error("a gap");
    return batches.map(({ position, body, sum }) => {
      const names = blobs.filter((blob) => blob["position"] === position).map(({ name }) => String(name));
      if (sum !== null && sum !== batchSum(locator, Number(position), String(body), names))
        throw new Error("a wrong sum");
      return String(body);
    });
  }

  lease(locator: string, owner: string, until: number): void {
    const length = Number(this.#get("SELECT length FROM runs WHERE locator = ?", locator)?.["length"]);
    this.#run(
      "UPDATE runs SET owner = ?, process = ?, lease_until = ?, starts = ?, starts_at = ? WHERE locator = ?",
      owner,
      "elsewhere",
      until,
      1,
      length,
      locator,
    );
  }

  release(locator: string, owner: string): void {
    this.#run(
      "UPDATE runs SET starts = 0, owner = NULL, process = NULL, lease_until = NULL, quiet_until = ? WHERE locator = ? AND owner = ?",
      0,
      locator,
      owner,
    );
  }

  delete(locator: string): void {
    this.#run("UPDATE runs SET deleted = 1, wake_at = NULL, head_sum = NULL WHERE locator = ?", locator);
    this.#run("DELETE FROM batches WHERE locator = ?", locator);
    this.#run("DELETE FROM runs WHERE locator = ?", locator);
  }

  count(table: string): number {
    return Number(this.#get(`SELECT count(*) AS n FROM ${table}`)?.["n"]);
  }

  close(): void {
    this.database.close();
  }
}
