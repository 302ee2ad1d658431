/** What drivers said they were told, held against what the file has, which is read here without our code. */

import { DatabaseSync } from "node:sqlite";
import { editOf, parentOf } from "./plans.ts";

/** Kinds of entries that settle a call: each key has one of them, once. */
const settlements = new Set([
  "step.completed",
  "step.failed",
  "sleep.fired",
  "suspend.resolved",
  "suspend.expired",
]);

export interface Kept {
  readonly runId: string;
  readonly parent: string | null;
  readonly status: string;
  /** Its batches, and those of its parent. */
  readonly text: string;
  /** Keys that it settled itself, one for each record of them. */
  readonly settled: readonly string[];
  readonly writeIds: readonly string[];
}

export class Ledger {
  /** `run value` of everything a driver had in hand, or an answer that was taken. */
  readonly #acknowledged = new Set<string>();
  /** Forks that a driver was told are made. */
  readonly #forked = new Set<string>();
  /** The same, as it was before the drivers that live now began. */
  #before = new Set<string>();
  /** Bodies that were begun though their value was known to be durable. */
  rerun = 0;

  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  /** One life: what a driver said. All of a round are heard before the next begins. */
  hear(lines: readonly string[]): void {
    for (const line of lines) {
      const [what = "", runId = "", value = ""] = line.split(" ");
      if (what === "ran" && this.#before.has(`${runId} ${value}`)) this.rerun += 1;
      if (what === "saw" || what === "answered") this.#acknowledged.add(`${runId} ${value}`);
      if (what === "forked") this.#forked.add(runId);
    }
  }

  roundIsOver(): void {
    this.#before = new Set(this.#acknowledged);
  }

  /**
   * What was acknowledged and is not there. The edits of a fork are tried before it is written: until it is, the
   * program sees under the fork's name what its parent has, and the edit.
   */
  lost(kept: readonly Kept[]): string[] {
    const texts = new Map(kept.map(({ runId, text }) => [runId, text]));
    const values = [...this.#acknowledged].filter((said) => {
      const [runId = "", value = ""] = said.split(" ");
      const parent = parentOf(runId);
      if (!texts.has(runId) && parent !== runId && value === editOf(parent)) return false;
      return (texts.get(runId) ?? texts.get(parent))?.includes(JSON.stringify(value)) !== true;
    });
    return [...values, ...[...this.#forked].filter((runId) => !texts.has(runId))];
  }
}

/** Records there are twice: a settlement of one key, or one write. */
export function doubled(kept: readonly Kept[]): string[] {
  return kept.flatMap(({ runId, settled, writeIds }) =>
    [settled, writeIds].flatMap((all) =>
      all.filter((one, n) => all.indexOf(one) !== n).map((one) => `${runId} ${one}`),
    ),
  );
}

/** Every run of a file. Throws where SQLite finds damage, or a journal is not dense and as long as its head says. */
export function keptIn(path: string): Kept[] {
  const database = new DatabaseSync(path);
  try {
    const damage = JSON.stringify(database.prepare("PRAGMA integrity_check").all());
    if (damage !== '[{"integrity_check":"ok"}]') throw new Error(`integrity_check: ${damage}`);
    if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'runs'").get() === undefined) return [];
    const runs = database.prepare("SELECT run_id, parent, locator, status, length FROM runs").all();
    const bodies = new Map(runs.map((run) => [String(run["run_id"]), bodiesOf(database, run)]));
    return runs.map(({ run_id: runId, parent, status }) => {
      const own = bodies.get(String(runId)) ?? [];
      const batches = own.map((body) => JSON.parse(body) as { by: string; entries: Entry[] });
      return {
        runId: String(runId),
        parent: parent === null ? null : String(parent),
        status: String(status),
        text: [...own, ...(bodies.get(String(parent)) ?? [])].join("\n"),
        settled: batches.flatMap(({ entries }) =>
          entries.flatMap(({ kind, key = "" }) => (settlements.has(kind) ? [key] : [])),
        ),
        writeIds: batches.map(({ by }) => by),
      };
    });
  } finally {
    database.close();
  }
}

interface Entry {
  readonly kind: string;
  readonly key?: string;
}

function bodiesOf(database: DatabaseSync, run: Record<string, unknown>): string[] {
  const rows = database
    .prepare("SELECT position, body FROM batches WHERE locator = ? ORDER BY position")
    .all(String(run["locator"]));
  if (rows.length !== run["length"] || rows.some(({ position }, n) => position !== n))
    throw new Error(
      `The journal of ${String(run["run_id"])} is not dense: ${rows.length} of ${String(run["length"])}`,
    );
  return rows.map(({ body }) => String(body));
}
