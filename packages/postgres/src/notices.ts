/**
 * Notifications between processes. They only say what to read (law 7): a lost one costs time, and nothing else.
 *
 * notices.1. A notification is sent after its commit, in a statement of its own that does not wait for the disk. Postgres
 *     keeps one lock for all notifications until their transaction ends, so they must not be part of an append.
 * notices.2. At most one statement is under way; what comes meanwhile goes with the next one. A step of a run that stays
 *     under its lease sends none.
 * notices.3. Listening has a connection of its own. It counts as working only after a notification that was sent through
 *     the pool has arrived on it, because a transaction pooler accepts LISTEN and delivers nothing.
 * notices.4. A connection that was silent since the last beat is asked for a reply. One that gives none in time is replaced.
 */

import { Client, escapeIdentifier } from "pg";
import { closeNow, configOf } from "./connections.ts";
import type { Database } from "./database.ts";

/** A journal has grown to a length, or a run of a workflow is due in `dueMs` milliseconds. */
export type Notice = readonly [locator: string, length: number, workflow: string | null, dueMs: number];

export interface NoticeEvents {
  noticed(notice: Notice): void;
  /** A process has claimed runs. */
  taken(locators: readonly string[], process: string): void;
  /** Notifications may have been missed. */
  missed(): void;
}

/** Postgres takes payloads of less than 8,000 bytes. */
const longestPayload = 7_000;
const selfTestMs = 2_000;
const [shortestPause, longestPause] = [500, 60_000];

export class Notices {
  readonly #database: Database;
  readonly #events: NoticeEvents;
  /** The name of this object in what it sends. A claim sends what it took by itself (`sql/claim.ts`). */
  readonly id = crypto.randomUUID();
  #waiting: Notice[] = [];
  #sending = false;
  #client: Client | null = null;
  #started = false;
  #closed = false;
  #pauseMs = shortestPause;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #beats: ReturnType<typeof setInterval> | null = null;
  /** Something has arrived since the last beat. */
  #isFresh = true;
  #heard: () => void = () => {};
  /** True while notifications of other processes arrive. */
  live = false;
  /** Statements sent, for tests. */
  sent = 0;

  constructor(database: Database, events: NoticeEvents) {
    this.#database = database;
    this.#events = events;
  }

  /** Tells the other processes, soon and without waiting. */
  tell(notice: Notice): void {
    this.#waiting.push(notice);
    if (!this.#sending) void this.#send();
  }

  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#waiting.length > 0 && !this.#closed) {
      const notices = this.#waiting.splice(0);
      try {
        this.sent += 1;
        await this.#notify(JSON.stringify([this.id, notices]));
      } catch {
        // Other processes find it by polling.
      }
    }
    this.#sending = false;
  }

  #notify(payload: string): Promise<unknown> {
    const { quoted: schema, channel } = this.#database.settings;
    const text = Buffer.byteLength(payload) > longestPayload ? "*" : payload;
    return this.#database.rows(`SELECT ${schema}.notify($1, $2)`, [channel, text]);
  }

  /** Begins to listen, unless it listens already or must not. */
  listen(): void {
    if (this.#started || this.#closed || !this.#database.settings.listen) return;
    this.#started = true;
    void this.#connect();
  }

  async #connect(): Promise<void> {
    const { pool, channel, timeoutMs, pollMs } = this.#database.settings;
    const given = { keepAlive: true, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs };
    const client = new Client({ ...configOf(pool.options), ...given });
    this.#client = client;
    client.on("error", () => this.#lost(client));
    client.on("end", () => this.#lost(client));
    client.on("notification", ({ payload = "" }) => this.#receive(payload));
    try {
      await client.connect();
      await client.query(`LISTEN ${escapeIdentifier(channel)}`);
      await this.#selfTest();
      // A process that has nothing else to do may end.
      (client as unknown as { unref(): void }).unref();
      this.live = true;
      this.#pauseMs = shortestPause;
      this.#beats = setInterval(() => this.#beat(client), pollMs);
      this.#beats.unref();
      this.#events.missed();
    } catch {
      this.#lost(client);
    }
  }

  async #selfTest(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const arrived = new Promise<void>((resolve, reject) => {
      this.#heard = resolve;
      timer = setTimeout(() => reject(new Error("no notification arrived")), selfTestMs);
    });
    arrived.catch(() => {});
    try {
      await this.#notify(JSON.stringify([this.id, "test"]));
      await arrived;
    } finally {
      clearTimeout(timer);
      this.#heard = () => {};
    }
  }

  #beat(client: Client): void {
    const wasFresh = this.#isFresh;
    this.#isFresh = false;
    if (!wasFresh)
      client.query("SELECT").then(
        () => void (this.#isFresh = true),
        () => this.#lost(client),
      );
  }

  #receive(payload: string): void {
    this.#isFresh = true;
    if (payload === "*") return this.#events.missed();
    let read: unknown;
    try {
      read = JSON.parse(payload);
    } catch {
      return;
    }
    if (!Array.isArray(read)) return;
    const [id, notices, taken = [], process = ""] = read as unknown[];
    if (id === this.id) return notices === "test" ? this.#heard() : undefined;
    if (!isListOf(notices, isNotice) || !isListOf(taken, isText) || !isText(process))
      return this.#events.missed();
    for (const notice of notices) this.#events.noticed(notice);
    if (taken.length > 0) this.#events.taken(taken, process);
  }

  #lost(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.live = false;
    this.#stopBeats();
    closeNow(client);
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#connect(), this.#pauseMs * (0.5 + Math.random() / 2));
    this.#timer.unref();
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPause);
  }

  #stopBeats(): void {
    if (this.#beats !== null) clearInterval(this.#beats);
    this.#beats = null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopBeats();
    if (this.#timer !== null) clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }
}

/** Channels have no permissions: any role of the database may send anything. */
function isNotice(notice: unknown): notice is Notice {
  if (!Array.isArray(notice)) return false;
  const [locator, length, workflow, dueMs] = notice as unknown[];
  const isNamed = isText(locator) && (workflow === null || isText(workflow));
  return isNamed && Number.isSafeInteger(length) && Number.isFinite(dueMs);
}

const isText = (value: unknown): value is string => typeof value === "string";

const isListOf = <T>(list: unknown, isOne: (one: unknown) => one is T): list is readonly T[] =>
  Array.isArray(list) && list.every(isOne);
