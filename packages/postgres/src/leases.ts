/** Leases, many in one statement. */

import type { Lease } from "@durable/core";
import { isDead, thisProcess } from "@durable/core/process";
import type { Database } from "./database.ts";
import { Groups } from "./groups.ts";
import { noteOf } from "./rows.ts";
import { put, take } from "./text.ts";

interface LeaseCall {
  readonly locator: string;
  readonly owner: string;
  /** The time of a lease, or the quiet time of a release. */
  readonly ms: number;
}

interface LeaseRow {
  readonly item: number;
  readonly starts_now: number | null;
  readonly length_now: number;
  readonly note: string | null;
  readonly held_by: string | null;
  readonly workflow_of: string | null;
  readonly due_from: number | null;
}

type ReleaseRow = Pick<LeaseRow, "item" | "workflow_of" | "due_from">;

export class Leases {
  readonly #database: Database;
  /** Called when a run of a workflow may be due again. */
  readonly #freed: (workflow: string) => void;
  readonly #leases: Groups<LeaseCall, LeaseRow | null>;
  readonly #releases: Groups<LeaseCall, ReleaseRow | null>;

  constructor(database: Database, freed: (workflow: string) => void) {
    this.#database = database;
    this.#freed = freed;
    const shared = { locatorOf: ({ locator }: LeaseCall) => locator, sizeOf: () => 1, flights: 2 };
    this.#leases = new Groups({ ...shared, send: (calls) => this.#lease(calls, []) });
    this.#releases = new Groups({ ...shared, send: (calls) => this.#release(calls) });
  }

  async lease(locator: string, owner: string, ms: number): Promise<Lease | null> {
    const call = { locator, owner, ms };
    let row = await this.#leases.add(call);
    // The driver is a process of this host that has died: its lease no longer counts.
    if (typeof row?.held_by === "string" && isDead(row.held_by))
      row = (await this.#lease([call], [row.held_by]))[0] ?? null;
    if (row === null || row.starts_now === null) return null;
    this.#tell(row);
    const { starts_now: starts, length_now: length, note } = row;
    return { starts, length, ...(note !== null && { blocked: noteOf(note) }) };
  }

  async release(locator: string, owner: string, ms: number): Promise<void> {
    const row = await this.#releases.add({ locator, owner, ms });
    if (row !== null && ms <= 0) this.#tell(row);
  }

  #tell({ workflow_of: workflow, due_from: dueFrom }: ReleaseRow): void {
    if (workflow !== null && dueFrom !== null) this.#freed(take(workflow));
  }

  async #lease(calls: readonly LeaseCall[], dead: readonly string[]): Promise<(LeaseRow | null)[]> {
    const text = `SELECT * FROM ${this.#database.settings.quoted}.lease_1($1, $2, $3, $4, $5, $6)`;
    const values = [...columns(calls), thisProcess, dead, this.#now()];
    return replies(calls, await this.#database.rows<LeaseRow>(text, values));
  }

  async #release(calls: readonly LeaseCall[]): Promise<(ReleaseRow | null)[]> {
    const text = `SELECT * FROM ${this.#database.settings.quoted}.release_1($1, $2, $3, $4)`;
    return replies(calls, await this.#database.rows<ReleaseRow>(text, [...columns(calls), this.#now()]));
  }

  #now(): number | null {
    return this.#database.settings.now?.() ?? null;
  }
}

function columns(calls: readonly LeaseCall[]): unknown[] {
  return [
    calls.map(({ locator }) => locator),
    calls.map(({ owner }) => put(owner)),
    calls.map(({ ms }) => ms),
  ];
}

/** One row for each call: `null` where there is none. */
function replies<Row extends { readonly item: number }>(
  calls: readonly LeaseCall[],
  rows: readonly Row[],
): (Row | null)[] {
  const found = calls.map((): Row | null => null);
  for (const row of rows) found[row.item - 1] = row;
  return found;
}
