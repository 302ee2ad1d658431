/** The options of the storage, without the types of `pg` (settings.ts has them). */

import type { Duration } from "@durable/core";

/** A `Pool` of `pg`. Declared here, so that a program without `@types/pg` compiles. */
export interface PostgresPool {
  readonly options: object;
  readonly totalCount: number;
  connect(): Promise<unknown>;
  end(): Promise<void>;
}

/** Options of `PostgresStorage`. Pass `url` or `pool`. */
export interface PostgresOptions {
  /** The address of the database: `postgres://user:password@host:5432/database`. */
  readonly url?: string | undefined;
  /** A pool of `pg` that the application has already. It stays open when the storage is closed. */
  readonly pool?: PostgresPool | undefined;
  /** The schema in which the tables are; `durable` by default. */
  readonly schema?: string | undefined;
  /** The most connections that a pool made from `url` opens; 10 by default. One more listens for notifications. */
  readonly connections?: number | undefined;
  /**
   * How long a statement, and a new connection of a pool made from `url`, may take; 15 s by default. Then the connection is
   * closed and the call fails as `storage-busy`.
   */
  readonly timeout?: Duration | undefined;
  /**
   * How often a process that waits asks the database although no notification has arrived; 5 s by default. Without
   * notifications it is half a second, unless `listen` is false and this is given.
   */
  readonly poll?: Duration | undefined;
  /** False when the tables are made by `PostgresStorage.migrate`, with another role; true by default. */
  readonly migrate?: boolean | undefined;
  /**
   * False to poll instead of listening for notifications; true by default. With a long `poll`, an idle database may sleep.
   */
  readonly listen?: boolean | undefined;
  /**
   * False to prepare no statement under a name; true by default. Behind a pooler that loses the names, the storage
   * notices it and does without.
   */
  readonly prepare?: boolean | undefined;
  /** Clock of leases and due runs; that of the database by default, because the clocks of a fleet differ. */
  readonly now?: (() => number) | undefined;
}

/** Options of `PostgresStorage.migrate`. */
export interface MigrateOptions {
  /**
   * A role of an application, or several: each may use the tables afterwards, and create or migrate nothing. The roles
   * must exist.
   */
  readonly grantTo?: string | readonly string[] | undefined;
  /** True to change nothing, and to return what would be done. */
  readonly dryRun?: boolean | undefined;
}

/** What a migration would do. */
export interface Migration {
  /** The version of the tables; 0 when there are none. */
  readonly from: number;
  readonly to: number;
  /** The statements, in their order. */
  readonly statements: readonly string[];
}
