/**
 * Statements on the pool of connections.
 *
 * database.1. The first statement makes or checks the schema; a failure is tried again by the next one.
 * database.2. A statement that Postgres rolled back because of others (a deadlock) is sent again, for a limited number of
 *     times. A statement whose outcome is unknown is never sent again here.
 * database.3. No statement changes its session, so that a transaction pooler can give each of them another connection.
 * database.4. The usual append is prepared under a name, which saves a third of its time. Behind a pooler that does not know
 *     the name, Postgres refuses it before it runs: then no names are used from there on.
 */

import { DurableError } from "@durable/core";
import type { QueryConfig, QueryResult, QueryResultRow } from "pg";
import { Connections } from "./connections.ts";
import { isCollision, isUnknownName, named as coded } from "./errors.ts";
import { migrate } from "./migrate.ts";
import type { Settings } from "./settings.ts";

const collisionTries = 10;

export class Database {
  readonly settings: Settings;
  readonly #connections: Connections;
  #ready: Promise<void> | null = null;
  #isReady = false;
  /** True when commits of this role do not wait for the disk, unless they ask for it. */
  isAsync = true;
  #closed = false;
  /** False once a name of a statement was lost on the way. */
  #hasNames: boolean;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(settings: Settings) {
    this.settings = settings;
    this.#connections = new Connections(settings);
    this.#hasNames = settings.prepare;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Runs work that ends before the pool does; its errors get the code of a `DurableError`. */
  async do<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw this.closedError();
    const running = work();
    this.#underWay.add(running);
    try {
      return await running;
    } catch (error) {
      throw coded(error, this.settings.place);
    } finally {
      this.#underWay.delete(running);
    }
  }

  /** The rows of one statement: one round trip. Errors are those of the client. */
  async rows<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    return (await this.#query<Row>({ text, values })).rows;
  }

  /** How many rows a prepared statement wrote; `null` when it was not sent, because names get lost on the way. */
  async written(statement: { name: string; text: string; values: unknown[] }): Promise<number | null> {
    if (!this.#hasNames) return null;
    try {
      return (await this.#query(statement)).rowCount;
    } catch (error) {
      if (!isUnknownName(error)) throw error;
      this.#hasNames = false;
      return null;
    }
  }

  async #query<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>> {
    if (!this.#isReady) await this.prepare();
    for (let tries = 1; ; tries++) {
      try {
        return await this.#connections.query<Row>(statement);
      } catch (error) {
        if (!isCollision(error) || tries >= collisionTries) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * tries));
      }
    }
  }

  /** Makes or checks the schema, once. */
  async prepare(): Promise<void> {
    if (this.#isReady) return;
    this.#ready ??= migrate(this.settings).then(
      ({ isAsync }) => {
        this.isAsync = isAsync;
        this.#isReady = true;
      },
      (error: unknown) => {
        this.#ready = null;
        throw error;
      },
    );
    await this.#ready;
  }

  /** Refuses further work, waits for what is under way, then closes the pool if it is our own. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
    this.#connections.close();
    if (this.settings.ownsPool) await this.settings.pool.end();
  }

  closedError(): DurableError {
    return new DurableError(
      "storage-closed",
      `The connection to ${this.settings.place} was closed by this process. Open a new PostgresStorage.`,
    );
  }
}
