/**
 * Statements on the connections of the pool, each with a time limit, so that a connection that went silent stops nothing.
 *
 * connections.1. A statement without a reply in time is given up, and its outcome is unknown. Its connection is closed, and
 *     so is every other one that was opened before: what made one silent may have made all silent.
 * connections.2. The server ends a statement earlier than this process gives it up, where it knows of the limit. So a
 *     statement that is slow, on a connection that works, has a known outcome.
 * connections.3. A connection through which something still passes is not silent: large values have more time to be sent, and a
 *     reply that is arriving is waited for.
 * connections.4. A pooler may refuse to know of the limit. Then only this process keeps it.
 */

import type { Socket } from "node:net";
import { DurableError } from "@durable/core";
import type {
  ClientBase,
  ClientConfig,
  Pool,
  PoolClient,
  PoolConfig,
  QueryConfig,
  QueryResult,
  QueryResultRow,
} from "pg";
import { stateOf } from "./errors.ts";

/** The part of the limit after which the server ends a statement. */
const ofServer = 0.9;
/** The slowest connection that is not taken for a silent one while it sends a large value: 256 KiB a second. */
const bytesPerMs = 256;

/** When the server ends a statement, for a limit. */
export function serverLimitOf(timeoutMs: number): number {
  return Math.max(1, Math.floor(timeoutMs * ofServer));
}

interface Place {
  readonly pool: Pool;
  readonly place: string;
  readonly timeoutMs: number;
}

export class Connections {
  readonly #place: Place;
  /** How often a statement had no reply. */
  #silences = 0;
  /** How many silences there had been when a connection was opened. One that is unknown was there before this object. */
  readonly #openedAt = new WeakMap<PoolClient, number>();
  readonly #learn = (client: PoolClient): void => {
    this.#openedAt.set(client, this.#silences);
    // Its backend may end in the moment in which it is handed out, before anything else listens.
    client.on("error", ignore);
  };

  constructor(place: Place) {
    this.#place = place;
    place.pool.on("connect", this.#learn);
  }

  /** Forgets the pool, which may be that of the application. */
  close(): void {
    this.#place.pool.removeListener("connect", this.#learn);
  }

  async query<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>> {
    const client = await this.#take();
    let broken: Error | undefined;
    // A connection that breaks rejects its statement. Without a listener it would also end the process.
    client.on("error", ignore);
    try {
      return await this.#replyTo(client, client.query<Row>(statement), weightOf(statement.values));
    } catch (error) {
      // After a refusal by the server, the connection is as good as before.
      if (stateOf(error) === null || isFatal(error)) broken = new Error("broken", { cause: error });
      throw error;
    } finally {
      client.release(broken);
      client.removeListener("error", ignore);
    }
  }

  /** A connection that was opened after the last silence. */
  async #take(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#connect();
      if ((this.#openedAt.get(client) ?? 0) === this.#silences) return client;
      closeNow(client);
      client.release(true);
    }
  }

  async #connect(): Promise<PoolClient> {
    const options = this.#place.pool.options as PoolConfig;
    for (;;) {
      try {
        return await this.#place.pool.connect();
      } catch (error) {
        if (options.statement_timeout === undefined || !isUnknownSetting(error)) throw error;
        delete options.statement_timeout;
      }
    }
  }

  /** `weight` is what the statement sends, in bytes. */
  async #replyTo<Reply>(client: PoolClient, reply: Promise<Reply>, weight: number): Promise<Reply> {
    const { place, timeoutMs } = this.#place;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      const { stream } = connectionOf(client);
      const wait = (ms: number): void => {
        const read = stream.bytesRead;
        const giveUp = (): void =>
          stream.bytesRead === read ? reject(silent(place, timeoutMs)) : wait(timeoutMs);
        // A process that stood still reads what has arrived meanwhile first.
        timer = setTimeout(() => void setImmediate(() => setImmediate(giveUp)), ms);
      };
      wait(timeoutMs + weight / bytesPerMs);
    });
    try {
      return await Promise.race([reply, silence]);
    } catch (error) {
      if (DurableError.is(error)) {
        reply.catch(ignore);
        // Statements that notice it at the same time are one silence.
        if ((this.#openedAt.get(client) ?? 0) === this.#silences) this.#silences += 1;
      }
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

function silent(place: string, timeoutMs: number): DurableError {
  return new DurableError(
    "storage-busy",
    `The journals in ${place} cannot be used: there was no reply within ${timeoutMs} ms, so the connection was closed, and whether the last write landed is unknown.`,
  );
}

/** How another connection like those of a pool is opened. Its password is not enumerable, so that it does not show up in logs. */
export function configOf(options: ClientConfig): ClientConfig {
  return { ...options, ...(options.password !== undefined && { password: options.password }) };
}

/** Closes a connection without a word to the server, because one that is silent would not reply to it. */
export function closeNow(client: ClientBase): void {
  connectionOf(client).stream.destroy();
}

function connectionOf(client: ClientBase): { readonly stream: Socket } {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;
}

/** About how many bytes the values of a statement have. */
function weightOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  return Array.isArray(value) ? value.reduce<number>((sum, one) => sum + weightOf(one), 0) : 0;
}

/** The server has ended the session. */
function isFatal(error: unknown): boolean {
  return (error as { severity?: unknown }).severity !== "ERROR";
}

/** A pooler that does not pass settings of sessions on, such as PgBouncer. */
function isUnknownSetting(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/i.test(error.message);
}

function ignore(): void {}
