/** Claims of due runs: of workflows with and without slots. */

import type { ClaimRequest, RunHead } from "@durable/core";
import { thisProcess } from "@durable/core/process";
import { pageSize } from "@durable/core/storage-kit";
import type { Database } from "./database.ts";
import type { Drivers } from "./drivers.ts";
import { slotColumns } from "./limits.ts";
import { listedHead, type RunRow } from "./rows.ts";
import { put } from "./text.ts";

export class Claims {
  readonly #database: Database;
  readonly #drivers: Drivers;
  #count = 0;

  constructor(database: Database, drivers: Drivers) {
    this.#database = database;
    this.#drivers = drivers;
  }

  async claim(request: ClaimRequest): Promise<readonly RunHead[]> {
    const { workflow, limit, slots = {} } = request;
    const names = [...new Set(workflow)];
    // Each claim begins with another workflow, so that claims of one run give every workflow its turn.
    const turn = names.length === 0 ? 0 : this.#count++ % names.length;
    const inTurn = [...names.slice(turn), ...names.slice(0, turn)];
    const free = inTurn.filter((name) => slots[name] === undefined);
    const most = pageSize(limit);
    if (free.length === names.length) return this.#claimFree(inTurn, request, most);
    // Workflows with and without slots are two searches, and each of them is first in turn.
    const parts = [
      (left: number) => this.#claimFree(free, request, left),
      (left: number) => this.#claimSlots(inTurn, request, left),
    ];
    const taken: RunHead[] = [];
    for (const part of this.#count % 2 === 0 ? parts : parts.toReversed())
      if (taken.length < most) taken.push(...(await part(most - taken.length)));
    return taken;
  }

  #claimFree(
    names: readonly string[],
    { version, dueAt, quietMs }: ClaimRequest,
    most: number,
  ): Promise<RunHead[]> {
    const call =
      version === undefined
        ? "claim_1($1, $2, $3, $4, $5, $6, $7)"
        : "claim_2($1, $2, $3, $4, $5, $6, $7, $8)";
    const text = `SELECT * FROM ${this.#database.settings.quoted}.${call}`;
    return this.#drivers.withDead(true, async (dead) => {
      const values = [names.map(put), dueAt, most, quietMs, thisProcess, dead, this.#now()];
      if (version !== undefined) values.push(version.map(put));
      return (await this.#database.rows<RunRow>(text, values)).map(listedHead);
    });
  }

  #claimSlots(
    names: readonly string[],
    { version, dueAt, quietMs, slots = {} }: ClaimRequest,
    most: number,
  ): Promise<RunHead[]> {
    const call = "claim_slots_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    const text = `SELECT * FROM ${this.#database.settings.quoted}.${call}`;
    const isWide = this.#count % 64 === 0;
    return this.#drivers.withDead(true, async (dead) => {
      const given = [dueAt, most, quietMs, thisProcess, dead, this.#now(), isWide, version?.map(put) ?? null];
      const rows = await this.#database.rows<RunRow>(text, [...slotColumns(slots, names), ...given]);
      return rows.map(listedHead);
    });
  }

  #now(): number | null {
    return this.#database.settings.now?.() ?? null;
  }
}
