/** Leases, many in one statement. */

import type { Lease, SlotLimits } from "@durable/core/storage";
import { isDead, thisProcess } from "@durable/core/storage";
import type { Database } from "./database.ts";
import type { Drivers } from "./drivers.ts";
import { Groups } from "./groups.ts";
import { slotColumns } from "./limits.ts";
import type { Notice } from "./notices.ts";
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
  /** In how many milliseconds the run is due; `null` when it is not. */
  readonly due_in: number | null;
  readonly took_over?: boolean | null;
  /** No slot is free. */
  readonly is_full?: boolean;
}

type ReleaseRow = Pick<LeaseRow, "item" | "workflow_of" | "due_in">;

export class Leases {
  readonly #database: Database;
  readonly #drivers: Drivers;
  /** Called when a run is due again. */
  readonly #freed: (notice: Notice) => void;
  readonly #leases: Groups<LeaseCall, LeaseRow | null>;
  readonly #releases: Groups<LeaseCall, ReleaseRow | null>;

  constructor(database: Database, drivers: Drivers, freed: (notice: Notice) => void) {
    this.#database = database;
    this.#drivers = drivers;
    this.#freed = freed;
    const shared = { locatorOf: ({ locator }: LeaseCall) => locator, sizeOf: () => 1, flights: 2 };
    this.#leases = new Groups({ ...shared, send: (calls) => this.#lease(calls, []) });
    this.#releases = new Groups({ ...shared, send: (calls) => this.#release(calls) });
  }

  async lease(locator: string, owner: string, ms: number, slots?: SlotLimits): Promise<Lease | null> {
    const call = { locator, owner, ms };
    const limited = slots === undefined || ms <= 0 ? null : slots;
    let row = await (limited === null ? this.#leases.add(call) : this.#withSlot(call, limited, []));
    // The driver is a process of this host that has died: its lease no longer counts.
    if (typeof row?.held_by === "string" && isDead(row.held_by)) {
      const dead = [row.held_by];
      row =
        limited === null
          ? ((await this.#lease([call], dead))[0] ?? null)
          : await this.#withSlot(call, limited, dead);
    }
    if (row?.is_full === true) return { starts: 0, length: row.length_now, full: true };
    if (row === null || row.starts_now === null) return null;
    this.#tell(locator, row);
    const { starts_now: starts, length_now: length, note } = row;
    const tookOver = row.took_over === true;
    return { starts, length, ...(tookOver && { tookOver }), ...(note !== null && { blocked: noteOf(note) }) };
  }

  async release(locator: string, owner: string, ms: number): Promise<void> {
    const row = await this.#releases.add({ locator, owner, ms });
    if (row !== null && ms <= 0) this.#tell(locator, row);
  }

  #tell(locator: string, { workflow_of: workflow, due_in: dueMs }: ReleaseRow): void {
    if (workflow !== null && dueMs !== null) this.#freed([locator, 0, take(workflow), dueMs]);
  }

  async #lease(calls: readonly LeaseCall[], dead: readonly string[]): Promise<(LeaseRow | null)[]> {
    const text = `SELECT * FROM ${this.#database.settings.quoted}.lease($1, $2, $3, $4, $5, $6)`;
    const values = [...columns(calls), thisProcess, dead, this.#now()];
    return replies(calls, await this.#database.rows<LeaseRow>(text, values));
  }

  /** A lease of a run that may have a slot. Dead drivers of this host have none. */
  #withSlot(call: LeaseCall, slots: SlotLimits, dead: readonly string[]): Promise<LeaseRow | null> {
    const text = `SELECT * FROM ${this.#database.settings.quoted}.lease_slots($1, $2, $3, $4, $5, $6, $7, $8)`;
    return this.#drivers.withDead(true, async (known) => {
      const given = [call.locator, put(call.owner), call.ms, thisProcess, [...known, ...dead], this.#now()];
      const [row] = await this.#database.rows<LeaseRow>(text, [...given, ...slotColumns(slots)]);
      return row ?? null;
    });
  }

  async #release(calls: readonly LeaseCall[]): Promise<(ReleaseRow | null)[]> {
    const text = `SELECT * FROM ${this.#database.settings.quoted}.release($1, $2, $3, $4)`;
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
