/**
 * Journals in one SQLite file, shared by any number of processes on one host.
 *
 * Q0. An append is acknowledged after a commit with WAL and synchronous=FULL; head and lease go with it.
 */

import type { DatabaseSync } from "node:sqlite";
import { DurableError } from "../errors.ts";
import { limits } from "../limits.ts";
import { conflict } from "../storage/memory.ts";
import type { AppendRequest, Lease, ListPage, ListQuery, RunHead, RunStatus, Storage } from "../storage.ts";
import { Commits } from "./commits.ts";
import { named } from "./errors.ts";
import { openDatabase } from "./open.ts";
import { isDead, thisProcess } from "./process.ts";
import { secretBeside } from "./secret.ts";
import { Watch } from "./watch.ts";

export interface SqliteOptions {
  /** The database file; its folder is made if need be. */
  readonly path: string;
  /** Clock of leases and due lists; the system's by default. */
  readonly now?: () => number;
}

type Row = Record<string, string | number | null>;

export class SqliteStorage implements Storage {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #commits: Commits;
  readonly #watch: Watch;
  readonly #now: () => number;
  readonly #sql: ReturnType<typeof statements>;
  #closed = false;

  constructor(options: string | SqliteOptions) {
    const { path, now = Date.now } = typeof options === "string" ? { path: options } : options;
    this.path = path;
    this.#now = now;
    this.#database = openDatabase(path);
    this.#commits = new Commits(this.#database, path);
    this.#sql = statements(this.#database);
    this.#watch = new Watch(
      (locator) => this.#length(locator),
      () => Number(this.#sql.version.get()?.["data_version"]),
    );
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Commits made by this connection: what an fsync was paid for. */
  get commits(): number {
    return this.#commits.count;
  }

  async append(request: AppendRequest): Promise<void> {
    await this.#write(() => this.#append(request));
    this.#watch.tell(request.locator, request.position + 1);
  }

  #append({ locator, position, batch, head, lease }: AppendRequest): void {
    const { status, wakeAt, updatedAt, steps } = head;
    let changes: number | bigint;
    if (position === 0) {
      const { runId, workflow, createdAt, label, parent, ancestors } = head;
      const about = [runId, workflow, createdAt, label, parent, JSON.stringify(ancestors)];
      changes = this.#sql.create.run(locator, status, wakeAt, updatedAt, steps, ...about).changes;
    } else {
      changes = this.#sql.update.run(status, wakeAt, updatedAt, steps, locator, position).changes;
    }
    if (Number(changes) === 0) throw conflict(head.runId, position);
    this.#sql.insert.run(locator, position, batch);
    if (lease === null) this.#sql.setLease.run(null, null, null, locator);
    else if (lease !== undefined)
      this.#sql.setLease.run(lease.owner, thisProcess, this.#now() + lease.ttlMs, locator);
  }

  read(locator: string, from = 0): Promise<{ batches: readonly string[]; length: number }> {
    return this.#try(() => {
      const length = this.#length(locator);
      const rows = this.#sql.read.all(locator, from, length) as unknown as { body: string }[];
      return { batches: rows.map(({ body }) => body), length };
    });
  }

  list(query: ListQuery = {}): Promise<ListPage> {
    return this.#try(() => {
      const limit = Math.min(query.limit ?? 100, limits.listPage);
      const { text, values } = listQuery(query, query.dueAt === undefined ? [] : this.#deadProcesses());
      const rows = this.#database.prepare(text).all(...values, limit + 1) as Row[];
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const next = rows.length > limit && last !== undefined ? `${last["wake_at"] ?? 0}.${last["id"]}` : null;
      return { runs: page.map(headOf), next };
    });
  }

  #deadProcesses(): string[] {
    const rows = this.#sql.processes.all(this.#now()) as unknown as { process: string }[];
    return rows.map(({ process }) => process).filter(isDead);
  }

  lease(locator: string, owner: string, ttlMs: number): Promise<Lease | null> {
    return this.#write(() => {
      const now = this.#now();
      const run = this.#sql.run.get(locator) as Row | undefined;
      if (run === undefined || run["deleted"] === 1) return null;
      const live =
        run["owner"] !== null && Number(run["lease_until"]) > now && !isDead(String(run["process"]));
      if (live && run["owner"] !== owner) return null;
      const length = Number(run["length"]);
      const since = run["starts_at"] === length ? Number(run["starts"]) : 0;
      const starts = run["owner"] === owner ? Math.max(since, 1) : since + 1;
      this.#sql.takeLease.run(owner, thisProcess, now + ttlMs, starts, length, locator);
      return { starts, length };
    });
  }

  release(locator: string, owner: string, quietMs = 0): Promise<void> {
    return this.#write(() => void this.#sql.release.run(this.#now() + quietMs, locator, owner));
  }

  delete(locator: string): Promise<void> {
    return this.#write(() => {
      this.#sql.hide.run(locator);
      // Whoever is read by nobody goes; that may free its own ancestors.
      for (let gone: Row[]; (gone = this.#sql.unread.all() as Row[]).length > 0;) {
        for (const { locator: free } of gone) {
          this.#sql.dropBatches.run(free ?? null);
          this.#sql.drop.run(free ?? null);
        }
      }
    });
  }

  changed(locator: string, length: number, signal: AbortSignal): Promise<void> {
    return this.#watch.changed(locator, length, signal);
  }

  secret(): Promise<string> {
    return this.#try(() => secretBeside(this.path));
  }

  /** Commits what is under way, then closes the file. */
  close(): Promise<void> {
    return this.#try(() => {
      this.#commits.flush();
      this.#closed = true;
      this.#watch.close();
      this.#database.close();
    });
  }

  #length(locator: string): number {
    return this.#closed ? 0 : Number((this.#sql.length.get(locator) as Row | undefined)?.["length"] ?? 0);
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#closed ? Promise.reject(this.#closedError()) : this.#commits.write(work);
  }

  async #try<T>(work: () => T): Promise<T> {
    if (this.#closed) throw this.#closedError();
    try {
      return work();
    } catch (error) {
      throw named(error, this.path);
    }
  }

  #closedError(): DurableError {
    return new DurableError(
      "storage-closed",
      `The journal file ${this.path} was closed by this process. Open a new SqliteStorage.`,
    );
  }
}

function statements(database: DatabaseSync) {
  return {
    create: database.prepare(
      `INSERT INTO runs (locator, status, wake_at, updated_at, steps, run_id, workflow, created_at, label, parent, ancestors, length)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT (locator) DO NOTHING`,
    ),
    update: database.prepare(
      `UPDATE runs SET status = ?, wake_at = ?, updated_at = ?, steps = ?, length = length + 1, quiet_until = 0
       WHERE locator = ? AND length = ? AND deleted = 0`,
    ),
    insert: database.prepare("INSERT INTO batches (locator, position, body) VALUES (?, ?, ?)"),
    setLease: database.prepare("UPDATE runs SET owner = ?, process = ?, lease_until = ? WHERE locator = ?"),
    takeLease: database.prepare(
      "UPDATE runs SET owner = ?, process = ?, lease_until = ?, starts = ?, starts_at = ? WHERE locator = ?",
    ),
    release: database.prepare(
      "UPDATE runs SET owner = NULL, process = NULL, lease_until = NULL, quiet_until = ? WHERE locator = ? AND owner = ?",
    ),
    length: database.prepare("SELECT length FROM runs WHERE locator = ?"),
    run: database.prepare(
      "SELECT length, owner, process, lease_until, starts, starts_at, deleted FROM runs WHERE locator = ?",
    ),
    read: database.prepare(
      "SELECT body FROM batches WHERE locator = ? AND position >= ? AND position < ? ORDER BY position",
    ),
    processes: database.prepare(
      "SELECT DISTINCT process FROM runs WHERE process IS NOT NULL AND lease_until > ?",
    ),
    hide: database.prepare("UPDATE runs SET deleted = 1, wake_at = NULL WHERE locator = ?"),
    unread: database.prepare(
      `SELECT locator FROM runs WHERE deleted = 1 AND locator NOT IN (SELECT value FROM runs AS r, json_each(r.ancestors))`,
    ),
    dropBatches: database.prepare("DELETE FROM batches WHERE locator = ?"),
    drop: database.prepare("DELETE FROM runs WHERE locator = ?"),
    version: database.prepare("PRAGMA data_version"),
  };
}

function listQuery(query: ListQuery, dead: readonly string[]): { text: string; values: (string | number)[] } {
  const where = ["deleted = 0"];
  const values: (string | number)[] = [];
  const and = (text: string, ...more: (string | number)[]): void => {
    where.push(text);
    values.push(...more);
  };
  if (query.workflow !== undefined) and("workflow = ?", query.workflow);
  if (query.status !== undefined) and("status = ?", query.status);
  if (query.parent !== undefined) and("parent = ?", query.parent);
  const [wakeAt = "0", id = "0"] = (query.cursor ?? "").split(".");
  if (query.dueAt === undefined) {
    if (query.cursor !== undefined) and("id < ?", Number(id));
    return { text: `SELECT * FROM runs WHERE ${where.join(" AND ")} ORDER BY id DESC LIMIT ?`, values };
  }
  and("wake_at IS NOT NULL AND wake_at <= ? AND quiet_until <= ?", query.dueAt, query.dueAt);
  and(
    "(lease_until IS NULL OR lease_until <= ? OR process IN (SELECT value FROM json_each(?)))",
    query.dueAt,
    JSON.stringify(dead),
  );
  if (query.cursor !== undefined) and("(wake_at, id) > (?, ?)", Number(wakeAt), Number(id));
  return { text: `SELECT * FROM runs WHERE ${where.join(" AND ")} ORDER BY wake_at, id LIMIT ?`, values };
}

function headOf(row: Row): RunHead {
  return {
    locator: String(row["locator"]),
    runId: String(row["run_id"]),
    workflow: String(row["workflow"]),
    status: String(row["status"]) as RunStatus,
    wakeAt: row["wake_at"] as number | null,
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
    steps: Number(row["steps"]),
    label: row["label"] as string | null,
    parent: row["parent"] as string | null,
    ancestors: JSON.parse(String(row["ancestors"])) as string[],
  };
}
