/**
 * Journals in one SQLite file, shared by any number of processes on one host.
 *
 * sqlite-storage.1. An append is acknowledged after a commit with WAL and synchronous=FULL, which includes blobs, head and
 *     lease.
 * sqlite-storage.2. A read sees one state of the file. It returns what was written, or throws (reading.ts).
 * sqlite-storage.3. A file that was deleted or replaced while it is open acknowledges nothing (identity.ts).
 * sqlite-storage.4. `close` waits for writes in progress; later calls are refused.
 * sqlite-storage.5. A note that is void is gone: triggers remove it, whichever build makes it void (schema.ts).
 */

import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Duration, toMs } from "../../values/duration.ts";
import { DurableError } from "../../values/errors.ts";
import { assertOptions } from "../../values/options.ts";
import type { ScheduleStore } from "../../ports/schedules.ts";
import { FairTurns, pageSize, searched } from "../../ports/storage-kit.ts";
import type {
  DuringQuery,
  RunDuring,
  AppendRequest,
  BlockedNote,
  ClaimRequest,
  Lease,
  ListPage,
  ListQuery,
  ReadReply,
  RunHead,
  RunTally,
  SlotLimits,
  Storage,
  StorageLimits,
  WorkflowPause,
} from "../../ports/storage.ts";
import { backUp, pinned, type Backup, type BackupOptions } from "./backup.ts";
import { appendBatch } from "./append.ts";
import { dropChapters } from "./chapters.ts";
import { monotonicMs } from "./clock.ts";
import { Commits, shortWait } from "./commits.ts";
import { claimRows, DuePoll, isAnyDue, type ClaimTurn } from "./due.ts";
import { isBusy, named } from "./errors.ts";
import { isCommon, listRows } from "./listing.ts";
import { FileIdentity } from "./identity.ts";
import { leaseRun } from "./leases.ts";
import { warnOfWriters } from "./old-sqlite.ts";
import { openDatabase } from "./open.ts";
import { readRun } from "./reading.ts";
import { deleteRun, deleteUnchanged, spentRows } from "./removal.ts";
import type { SpentRow } from "../../values/usage.ts";
import { Space, type Compacted, type CompactOptions } from "./space.ts";
import { schedulesIn } from "./schedules.ts";
import { secretBeside } from "./secret.ts";
import { sqliteLimits } from "./slots.ts";
import { timeOf } from "./list-text.ts";
import { runsDuring } from "./during.ts";
import { listedHeads, notedHead, noteText, textsOf, type Row, type Statements } from "./statements.ts";
import { textSum } from "./sums.ts";
import { tallied } from "./tally.ts";
import { Watch } from "./watch.ts";

/** Options of `SqliteStorage`. */
export interface SqliteOptions {
  /** The database file; missing folders are created. */
  readonly path: string;
  /** Clock of leases and due lists; that of the system by default. */
  readonly now?: (() => number) | undefined;
  /** How long a call waits for other processes before it fails with `storage-busy`; 10 s by default. */
  readonly busyTimeout?: Duration | undefined;
}

/** Keeps journals in one SQLite file, for any number of processes on one host. Needs `node:sqlite`. */
export class SqliteStorage implements Storage {
  /** The database file. */
  readonly path: string;
  readonly finds = true;
  readonly schedules: ScheduleStore;
  readonly #database: DatabaseSync;
  readonly #sql: Statements;
  readonly #commits: Commits;
  readonly #identity: FileIdentity;
  readonly #watch: Watch;
  readonly #due: DuePoll;
  readonly #now: () => number;
  readonly #busyMs: number;
  /** Slots of runs, and texts under names. */
  readonly limits: StorageLimits;
  #closing: Promise<void> | null = null;
  #claims = 0;
  readonly #turns = new FairTurns();

  constructor(options: string | SqliteOptions) {
    const given: SqliteOptions = typeof options === "string" ? { path: options } : options;
    assertOptions(given, "path now busyTimeout", "new SqliteStorage");
    const { path, now = Date.now, busyTimeout = 10_000 } = given;
    const busyMs = toMs(busyTimeout, "busyTimeout of SqliteStorage");
    // Absolute, because the process may change its working folder, and the secret is looked up beside the file.
    this.path = path === ":memory:" ? path : resolve(path);
    this.#now = now;
    this.#busyMs = busyMs;
    const { database, sql } = openDatabase(this.path, busyMs);
    this.#database = database;
    this.#sql = sql;
    const identity = new FileIdentity(this.path);
    this.#identity = identity;
    const dataVersion = (): number => Number(sql.version.get()?.["data_version"]);
    const lookForWriters = warnOfWriters(process.versions["sqlite"] ?? "", this.path, dataVersion);
    const check = (): void => {
      identity.check();
      lookForWriters();
    };
    this.#commits = new Commits(this.#database, { path: this.path, busyMs, check });
    const version = (): number => {
      identity.checkSometimes();
      return dataVersion();
    };
    this.#watch = new Watch((locator) => {
      identity.checkSometimes();
      return Number(this.#sql.length.get(locator)?.["length"] ?? 0);
    }, version);
    this.#due = new DuePoll(sql, now, version);
    this.limits = sqliteLimits(sql, {
      read: (work) => this.#read(work),
      write: (work) => this.#write(work),
      writeUnsynced: async (work) => {
        if (this.closed) throw this.#closedError();
        this.#commits.unsynced(work);
      },
      now,
    });
    this.schedules = schedulesIn(
      {
        read: (work) => this.#read(() => work(database)),
        write: (work) => this.#write(() => work(database)),
      },
      this.path,
    );
  }

  /** True after `close`. */
  get closed(): boolean {
    return this.#closing !== null;
  }

  /** Commits of this connection; each one waited for the disk. */
  get commits(): number {
    return this.#commits.count;
  }

  append(request: AppendRequest): Promise<void> {
    const { locator, position } = request;
    return this.#write(() => appendBatch(this.#sql, request, this.#now()), locator).then(() => {
      this.#watch.notify(locator, position + 1);
      this.#due.appended(request);
    });
  }

  read(locator: string, from = 0): Promise<ReadReply> {
    return this.#read(() => readRun(this.#sql, { locator, from, path: this.path, now: this.#now() }));
  }

  readChapter(locator: string, back = 0): Promise<ReadReply & { readonly from: number }> {
    return this.#read(() => {
      const { from = 0, ...reply } = readRun(this.#sql, {
        locator,
        from: null,
        back,
        path: this.path,
        now: this.#now(),
      });
      return { ...reply, from };
    });
  }

  dropChapters(locator: string, before: number): Promise<void> {
    return this.#write(() => dropChapters(this.#sql, locator, before, this.path));
  }

  note(locator: string, note: BlockedNote): Promise<void> {
    const text = noteText(note);
    const sum = textSum(locator, text);
    return this.#write(() => void this.#sql.note.run(text, sum, locator, note.length));
  }

  pause(workflow: string, pause: WorkflowPause | null): Promise<void> {
    return this.#write(() => {
      if (pause === null) this.#sql.unpause.run(workflow);
      else this.#sql.pause.run(workflow, pause.reason, pause.since);
    });
  }

  paused(): Promise<readonly WorkflowPause[]> {
    return this.#read(() => this.#sql.paused.all().map((row) => ({ ...row }) as unknown as WorkflowPause));
  }

  async list(query: ListQuery = {}): Promise<ListPage> {
    const { q } = query;
    const now = this.#now();
    const time = timeOf(query) ?? "due_order";
    const cursorOf = (row: Row): string => `${Number(row[time])}:${Number(row["id"])}`;
    if (q !== undefined && (await this.#read(() => isCommon(this.#sql, q)))) {
      const { rows, ...place } = await searched(query, {
        rows: (asked, most) => this.#read(() => listRows(this.#sql, asked, now, most)),
        textsOf,
        cursorOf,
      });
      return { runs: this.#headsOf(query, rows, now), ...place };
    }
    const rows = await this.#read(() => listRows(this.#sql, query, now));
    const limit = pageSize(query.limit);
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return { runs: this.#headsOf(query, page, now), next: last === undefined ? null : cursorOf(last) };
  }

  #headsOf(query: ListQuery, rows: readonly Row[], now: number): RunHead[] {
    const runs = listedHeads(rows, now, this.path);
    // A damaged row is shown, and neither driven nor removed by what it says.
    const isByTime = query.endedBefore !== undefined || query.dueAt !== undefined;
    return isByTime ? runs.filter(({ blocked }) => blocked?.code !== "corrupt") : runs;
  }

  async claim(request: ClaimRequest): Promise<readonly RunHead[]> {
    // An idle worker takes no lock of the file.
    const turn = this.#claims++;
    const at = (): ClaimTurn => ({ now: this.#now(), turn, turns: this.#turns });
    if (!(await this.#read(() => isAnyDue(this.#sql, request, at())))) return [];
    const rows = await this.#write(() => claimRows(this.#sql, request, at()));
    return rows.map((row) => notedHead(row, this.path));
  }

  async whenDue(
    workflow: readonly string[],
    signal: AbortSignal,
    version?: readonly string[],
  ): Promise<void> {
    if (this.closed) throw this.#closedError();
    await this.#due.whenDue({ workflow, version }, signal);
  }

  async lease(locator: string, owner: string, ttlMs: number, slots?: SlotLimits): Promise<Lease | null> {
    const lease = await this.#write(() =>
      leaseRun(this.#sql, { locator, owner, ttlMs, slots }, { now: this.#now(), path: this.path }),
    );
    if (ttlMs <= 0) this.#due.recheck();
    return lease;
  }

  async release(locator: string, owner: string, quietMs = 0): Promise<void> {
    await this.#write(() => void this.#sql.giveBack.run(this.#now() + quietMs, locator, owner));
    this.#due.recheck();
  }

  delete(locator: string): Promise<void> {
    return this.#write(() => deleteRun(this.#sql, locator, this.path));
  }

  deleteUnchanged(heads: readonly RunHead[]): Promise<readonly string[]> {
    return this.#write(() => deleteUnchanged(this.#sql, heads, this.path));
  }

  during(query: DuringQuery): Promise<readonly RunDuring[]> {
    return this.#read(() => runsDuring(this.#sql, query));
  }

  spent(): Promise<readonly SpentRow[]> {
    return this.#read(() => spentRows(this.#sql, this.path));
  }

  takeTurn(name: string, owner: string, ttlMs: number): Promise<boolean> {
    return this.#write(() => {
      const now = this.#now();
      return Number(this.#sql.takeTurn.run(name, owner, now + ttlMs, now).changes) > 0;
    });
  }

  giveBackSpace(signal?: AbortSignal): Promise<void> {
    return this.#space().giveBack(signal);
  }

  /**
   * Gives the space of deleted runs back to the file system. Without `full`, page by page, while others use the
   * file; a purge does that by itself. `full` writes the whole file anew, which needs as much free space again
   * and keeps others from writing until it is done. A file that an earlier version created needs it once.
   */
  compact(options: CompactOptions = {}): Promise<Compacted> {
    return this.#space().compact(options);
  }

  #space(): Space {
    return new Space(this.path, this.#database, {
      write: (work) => this.#write(work),
      read: (work) => this.#read(work),
    });
  }

  /** SQLite counts commits of other connections; those of this one are known by the rows that they changed. */
  revision(): Promise<string> {
    return this.#read(() => `${Number(this.#sql.version.get()?.["data_version"])} ${this.#commits.rows}`);
  }

  tally(dueAt: number): Promise<readonly RunTally[]> {
    return this.#read(() => tallied(this.#sql, dueAt, this.#now()));
  }

  async changed(locator: string, length: number, signal: AbortSignal): Promise<void> {
    if (this.closed) throw this.#closedError();
    await this.#watch.changed(locator, length, signal);
  }

  /**
   * Copies the file while it is in use, by this process and others: one state with everything that was
   * acknowledged before. The copy appears under its name when it is complete and checked.
   */
  backup(path: string, options: BackupOptions = {}): Promise<Backup> {
    const pin = (): Promise<DatabaseSync> => this.#read(() => pinned(this.path, this.#identity));
    return backUp(this.path, path, { pin, options });
  }

  secret(): Promise<string> {
    return this.#read(() => secretBeside(this.path));
  }

  /** Commits what is under way, then closes the file. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#commits.settled();
    this.#watch.close();
    this.#due.close();
    this.#database.close();
  }

  #write<T>(work: () => T, run?: string): Promise<T> {
    return this.closed ? Promise.reject(this.#closedError()) : this.#commits.write(work, run);
  }

  async #read<T>(work: () => T): Promise<T> {
    const until = monotonicMs() + this.#busyMs;
    for (;;) {
      if (this.closed) throw this.#closedError();
      try {
        this.#identity.checkSometimes();
        return work();
      } catch (error) {
        if (!isBusy(error) || monotonicMs() > until) throw named(error, this.path);
      }
      await new Promise((resolve) => setTimeout(resolve, shortWait()));
    }
  }

  #closedError(): DurableError {
    return new DurableError(
      "storage-closed",
      `The journal file "${this.path}" was closed by this process. Open a new SqliteStorage.`,
    );
  }
}
