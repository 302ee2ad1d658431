/** Claims of due runs. The rules stand in sql/claim.ts; whose turn it is among keys of `fair` is remembered here. */

import type { RunHead } from "@durable/core";
import type { ClaimRequest } from "@durable/core/storage";
import { thisProcess } from "@durable/core/storage";
import { FairTurns, pageSize } from "@durable/core/storage";
import type { Database } from "./database.ts";
import type { Drivers } from "./drivers.ts";
import type { DueWaits } from "./due.ts";
import { notedHead, type RunRow } from "./rows.ts";
import { put, take } from "./text.ts";

export class Claims {
  readonly #database: Database;
  readonly #drivers: Drivers;
  /** Who says to other processes which runs it has claimed. */
  readonly #sender: string;
  readonly #due: DueWaits;
  readonly #turns = new FairTurns();
  #count = 0;

  constructor(database: Database, drivers: Drivers, sender: string, due: DueWaits) {
    this.#database = database;
    this.#drivers = drivers;
    this.#sender = sender;
    this.#due = due;
  }

  async claim({
    workflow,
    version,
    dueAt,
    limit,
    quietMs,
    slots,
  }: ClaimRequest): Promise<readonly RunHead[]> {
    const names = [...new Set(workflow)];
    // Each claim begins with another workflow, so that claims of one run give every workflow its turn.
    const turn = names.length === 0 ? 0 : this.#count++ % names.length;
    const inTurn = [...names.slice(turn), ...names.slice(0, turn)];
    const turns = inTurn.map((name) => this.#turns.of(name));
    const { quoted, channel } = this.#database.settings;
    const text = `SELECT * FROM ${quoted}.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`;
    const dead = await this.#drivers.forClaim();
    const found = await this.#database.rows<RunRow>(text, [
      inTurn.map(put),
      inTurn.map((name) => slots?.[name] ?? null),
      turns.map((last) => (last === undefined ? null : put(last.fair))),
      turns.map((last) => last?.left ?? 0),
      inTurn.map((name) => nullable(this.#turns.slots.get(name))),
      dueAt,
      pageSize(limit),
      quietMs,
      thisProcess,
      dead,
      this.#database.settings.now?.() ?? null,
      version?.map(put) ?? null,
      channel,
      this.#sender,
    ]);
    const taken: RunHead[] = [];
    for (const row of found) {
      // Not a run: up to which key a workflow had nothing to take.
      if (Number(row.id) === 0) this.#turns.pass(take(row.run_id), take(row.fair));
      else taken.push(this.#took(row));
    }
    this.#due.claimed(taken.length > 0);
    return taken;
  }

  #took(row: RunRow): RunHead {
    const head = notedHead(row);
    this.#turns.took(head.workflow, head.flow ?? {});
    if (row.slot !== null) this.#turns.slots.set(head.workflow, take(row.slot));
    return head;
  }
}

function nullable(text: string | undefined): string | null {
  return text === undefined ? null : put(text);
}
