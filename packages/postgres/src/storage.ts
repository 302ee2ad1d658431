/**
 * Journals in Postgres, shared by any number of processes and hosts.
 *
 * postgres-storage.1. An append is acknowledged after a synchronous commit that includes blobs, head and lease.
 * postgres-storage.2. A read sees one state of the database. It returns what was written, or throws `corrupt`.
 * postgres-storage.3. A connection that breaks leaves the outcome of an append unknown: it is rejected with `storage-busy`,
 *     and the journal finds out by reading (law 8).
 * postgres-storage.4. Leases and quiet times go by the clock of the database, so that the clocks of a fleet may differ.
 * postgres-storage.5. `close` waits for calls under way; later ones are refused.
 */

import type { DurableError, ListPage, ListQuery, RunHead, Storage } from "@durable/core";
import type {
  AppendRequest,
  BlockedNote,
  ClaimRequest,
  DuringQuery,
  Lease,
  ReadReply,
  RunDuring,
  RunTally,
  ScheduleStore,
  SlotLimits,
  SpentRow,
  StorageLimits,
  WorkflowPause,
} from "@durable/core/storage";
import { beyondEnd, mostMatches, noChapter, pageSize, searched, stillRead } from "@durable/core/storage";
import { thisProcess } from "@durable/core/storage";
import { appendStatement, preparedAppend, refusalsOf, sizeOf, type Refusal } from "./appends.ts";
import { Claims } from "./claims.ts";
import { Database } from "./database.ts";
import { Drivers } from "./drivers.ts";
import { DueWaits, type DueRuns } from "./due.ts";
import { Groups } from "./groups.ts";
import { Leases } from "./leases.ts";
import { postgresLimits } from "./limits.ts";
import { migrate, planMigration } from "./migrate.ts";
import { Notices, type Notice } from "./notices.ts";
import type { MigrateOptions, Migration, PostgresOptions } from "./options.ts";
import { keepPause, pausesIn } from "./pauses.ts";
import { deleteRun, deleteRuns } from "./removal.ts";
import { schedulesIn } from "./schedules.ts";
import { rolesOf, settingsOf } from "./settings.ts";
import { replyOf, type ReadRow } from "./reply.ts";
import { isDriven, notedHead, noteText, rowDuring, tallyOf, textsOf, timeOf, type RunRow } from "./rows.ts";
import { nextDueText } from "./sql/due.ts";
import { duringText } from "./sql/during.ts";
import { listText, matchesText } from "./sql/list.ts";
import { takeTurnText } from "./sql/retention.ts";
import { readSpent, spentRow } from "./sql/spent.ts";
import { tallyText, type TallyRow } from "./sql/tally.ts";
import { put } from "./text.ts";
import { Watch } from "./watch.ts";

/** Statements of appends that are under way at a time. Two keep the disk busy while the next group forms. */
const flights = 2;

/** Keeps journals in Postgres, for any number of processes and hosts. Needs `pg`. */
export class PostgresStorage implements Storage {
  readonly finds = true;
  readonly schedules: ScheduleStore;
  readonly #database: Database;
  readonly #schema: string;
  readonly #appends: Groups<AppendRequest, DurableError | null>;
  readonly #claims: Claims;
  readonly #leases: Leases;
  readonly #drivers: Drivers;
  readonly #watch: Watch;
  readonly #due: DueWaits;
  readonly #notices: Notices;
  /** Slots of runs, and texts under names. */
  readonly limits: StorageLimits;
  /** True when every run that has ended is found by its end. */
  #closing: Promise<void> | null = null;

  constructor(options: string | PostgresOptions) {
    const settings = settingsOf(options);
    this.#schema = settings.quoted;
    this.#database = new Database(settings);
    this.schedules = schedulesIn(this.#database, this.#schema);
    this.#drivers = new Drivers(this.#database);
    this.limits = postgresLimits(this.#database);
    this.#leases = new Leases(this.#database, this.#drivers, (notice) => this.#tell(notice));
    this.#appends = new Groups({
      send: (requests) => this.#send(requests),
      locatorOf: ({ locator }) => locator,
      sizeOf,
      flights,
    });
    this.#watch = new Watch((locators) => this.#lengthsOf(locators));
    this.#due = new DueWaits({
      dueIn: (of) => this.#dueIn(of),
      haveDied: () => this.#drivers.haveDied(),
      // Not all workers of a fleet at the same time.
      pollMs: () =>
        (this.#notices.live ? settings.pollMs : settings.blindPollMs) * (0.75 + Math.random() / 2),
    });
    this.#notices = new Notices(this.#database, {
      noticed: (notice) => this.#learn(notice, false),
      taken: (locators, process) => {
        this.#drivers.saw(process);
        this.#due.taken(locators);
      },
      missed: () => {
        this.#watch.recheck();
        this.#due.recheck();
      },
    });
    this.#claims = new Claims(this.#database, this.#drivers, this.#notices.id, this.#due);
  }

  /**
   * Makes or migrates the tables, with a role that may do so. A storage with `migrate: false` needs it. With
   * `grantTo`, other roles get the rights that a storage needs, and no others. With `dryRun`, it only says what it would do.
   */
  static async migrate(options: string | PostgresOptions, given: MigrateOptions = {}): Promise<Migration> {
    const grantTo = rolesOf(given);
    const settings = settingsOf(options);
    try {
      const plan = await planMigration(settings, undefined, grantTo);
      if (given.dryRun !== true) await migrate({ ...settings, migrate: true }, undefined, grantTo);
      return plan;
    } finally {
      if (settings.ownsPool) await settings.pool.end();
    }
  }

  /** True after `close`. */
  get closed(): boolean {
    return this.#database.closed;
  }

  /** Statements that appended something, and statements that notified other processes. */
  get sent(): { readonly appends: number; readonly notices: number } {
    return { appends: this.#appends.sent, notices: this.#notices.sent };
  }

  /** True while notifications of other processes arrive; otherwise the storage polls. */
  get listening(): boolean {
    return this.#notices.live;
  }

  async append(request: AppendRequest): Promise<void> {
    const refusal = await this.#database.do(() => this.#appends.add(request));
    if (refusal !== null) throw refusal;
    const { locator, position, head, lease } = request;
    this.#watch.grown(locator, position + 1);
    // A driver that goes on under its lease concerns no other process.
    if (lease) return;
    // The end of a run may leave its slot to another one.
    const workflow = head.wakeAt === null && head.flow?.slot === undefined ? null : head.workflow;
    const dueMs = Math.max(0, (head.wakeAt ?? 0) - (this.#now() ?? Date.now()));
    this.#tell([locator, position + 1, workflow, dueMs]);
  }

  async #send(requests: readonly AppendRequest[]): Promise<(DurableError | null)[]> {
    await this.#database.prepare();
    const { isAsync } = this.#database;
    const context = { schema: this.#schema, process: thisProcess, now: this.#now(), isAsync };
    const prepared = preparedAppend(requests, context);
    if (prepared !== null && (await this.#database.written(prepared)) === 1) return [null];
    const { text, values } = appendStatement(requests, context);
    return refusalsOf(requests, await this.#database.rows<Refusal>(text, values));
  }

  read(locator: string, from = 0): Promise<ReadReply> {
    // Positions are of type int in the database.
    return this.#read(locator, Math.min(from, beyondEnd));
  }

  async readChapter(locator: string): Promise<ReadReply & { readonly from: number }> {
    const { from = 0, ...reply } = await this.#read(locator, null);
    return { ...reply, from };
  }

  /** Batches from a position on; `null` is the beginning of the current chapter. */
  #read(locator: string, asked: number | null): Promise<ReadReply> {
    return this.#database.do(async () => {
      const text = `SELECT * FROM ${this.#schema}.read($1, $2, $3)`;
      return replyOf(await this.#database.rows<ReadRow>(text, [locator, asked, this.#now()]), locator, asked);
    });
  }

  list(query: ListQuery = {}): Promise<ListPage> {
    const limit = pageSize(query.limit);
    const cursorOf = (row: RunRow): string => `${timeOf(query, row)}:${row.id}`;
    return this.#database.do(async () => {
      if (query.q !== undefined && (await this.#isCommon(query.q))) {
        const rows = (asked: ListQuery, most: number): Promise<RunRow[]> => this.#rows(asked, most);
        const { rows: found, ...place } = await searched(query, { rows, textsOf, cursorOf });
        return { runs: found.map(shown), ...place };
      }
      const rows = await this.#rows(query, limit + 1);
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return { runs: page.map(shown), next: last === undefined ? null : cursorOf(last) };
    });
  }

  #rows(query: ListQuery, most: number): Promise<RunRow[]> {
    return this.#drivers.withDead(query.dueAt !== undefined, (dead) => {
      const { text, values } = listText(this.#schema, query, most, { now: this.#now(), dead });
      return this.#database.rows<RunRow>(text, [...values]);
    });
  }

  /** True when more than `mostMatches` runs have a text, so that a search does not find all of them first. */
  async #isCommon(q: string): Promise<boolean> {
    const { text, values } = matchesText(this.#schema, q, mostMatches + 1);
    const [row] = await this.#database.rows<{ n: string }>(text, [...values]);
    return Number(row?.n) > mostMatches;
  }

  claim(request: ClaimRequest): Promise<readonly RunHead[]> {
    return this.#database.do(() => this.#claims.claim(request));
  }

  lease(locator: string, owner: string, ttlMs: number, slots?: SlotLimits): Promise<Lease | null> {
    return this.#database.do(() => this.#leases.lease(locator, owner, ttlMs, slots));
  }

  release(locator: string, owner: string, quietMs = 0): Promise<void> {
    return this.#database.do(() => this.#leases.release(locator, owner, quietMs));
  }

  note(locator: string, note: BlockedNote): Promise<void> {
    return this.#database.do(async () => {
      const text = `SELECT ${this.#schema}.note($1, $2, $3)`;
      await this.#database.rows(text, [locator, noteText(note), note.length]);
    });
  }

  pause(workflow: string, pause: WorkflowPause | null): Promise<void> {
    return this.#database.do(() => keepPause(this.#database, workflow, pause));
  }

  /** The transactions that the server knows to have ended: also those of other databases on it. */
  revision(): Promise<string> {
    return this.#database.do(async () => {
      const [row] = await this.#database.rows<{ seen: string }>(
        "SELECT txid_current_snapshot()::text AS seen",
        [],
      );
      return String(row?.seen);
    });
  }

  tally(dueAt: number): Promise<readonly RunTally[]> {
    return this.#database.do(() =>
      this.#drivers.withDead(true, async (dead) => {
        const values = [dueAt, this.#now(), dead];
        return (await this.#database.rows<TallyRow>(tallyText(this.#schema), values)).map(tallyOf);
      }),
    );
  }

  async during(query: DuringQuery): Promise<readonly RunDuring[]> {
    const { text, values } = duringText(this.#schema, query);
    const rows = await this.#database.do(() => this.#database.rows<RunRow>(text, [...values]));
    return rows.flatMap(rowDuring);
  }

  paused(): Promise<readonly WorkflowPause[]> {
    return this.#database.do(() => pausesIn(this.#database));
  }

  delete(locator: string): Promise<void> {
    return this.#database.do(() => deleteRun(this.#database, locator));
  }

  deleteUnchanged(heads: readonly RunHead[]): Promise<readonly string[]> {
    return this.#database.do(() => deleteRuns(this.#database, heads));
  }

  spent(): Promise<readonly SpentRow[]> {
    return this.#database.do(async () =>
      (await this.#database.rows(readSpent(this.#schema), [])).map((row) => spentRow(row)),
    );
  }

  takeTurn(name: string, owner: string, ttlMs: number): Promise<boolean> {
    return this.#database.do(async () => {
      const values = [put(name), put(owner), ttlMs, this.#now()];
      return (await this.#database.rows(takeTurnText(this.#schema), values)).length > 0;
    });
  }

  dropChapters(locator: string, before: number): Promise<void> {
    return this.#database.do(async () => {
      const text = `SELECT * FROM ${this.#schema}.drop_chapters($1, $2)`;
      const [refused] = await this.#database.rows<{ reason: string; of_run: string }>(text, [
        locator,
        before,
      ]);
      if (refused === undefined) return;
      throw refused.reason === "read" ? stillRead(refused.of_run, before) : noChapter(refused.of_run, before);
    });
  }

  async changed(locator: string, length: number, signal: AbortSignal): Promise<void> {
    if (this.closed) throw this.#database.closedError();
    this.#notices.listen();
    await this.#watch.changed(locator, length, signal);
  }

  async #lengthsOf(locators: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const text = `SELECT locator, length FROM ${this.#schema}.runs WHERE locator = ANY ($1::text[])`;
    const rows = await this.#database.rows<{ locator: string; length: number }>(text, [locators]);
    return new Map(rows.map(({ locator, length }) => [locator, length]));
  }

  async whenDue(
    workflow: readonly string[],
    signal: AbortSignal,
    version?: readonly string[],
  ): Promise<void> {
    if (this.closed) throw this.#database.closedError();
    this.#notices.listen();
    await this.#due.whenDue({ workflow, version }, signal);
  }

  async #dueIn({ workflow, version }: DueRuns): Promise<number | null> {
    const names = workflow.map(put);
    const [next] = await this.#database.rows<{ now: number; at: number | null }>(
      nextDueText(this.#schema, version !== undefined),
      [names, this.#now(), ...(version === undefined ? [] : [version.map(put)])],
    );
    const ms = next === undefined || next.at === null ? null : Math.max(0, next.at - next.now);
    return ms === 0 || !(await this.#drivers.leftOrphans(names, this.#now())) ? ms : 0;
  }

  /** Waits for calls under way, then closes the connections that are its own. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Idle connections do not keep the process alive, and it must not end before they are closed.
    const alive = setInterval(() => {}, 60_000);
    try {
      const closed = this.#database.close();
      this.#watch.close();
      this.#due.close();
      await this.#notices.close();
      await closed;
    } finally {
      clearInterval(alive);
    }
  }

  #now(): number | null {
    return this.#database.settings.now?.() ?? null;
  }

  #learn([locator, length, workflow, dueMs]: Notice, isOwn: boolean): void {
    this.#watch.grown(locator, length);
    if (workflow !== null) this.#due.announced(workflow, locator, dueMs, isOwn);
  }

  #tell(notice: Notice): void {
    this.#learn(notice, true);
    this.#notices.tell(notice);
  }
}

function shown(row: RunRow): RunHead {
  return { ...notedHead(row), driven: isDriven(row) };
}
