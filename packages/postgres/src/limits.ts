/** `storage.limits`: the slots of runs, and texts under names. */

import type { SlotLimits, SlotUse, StorageLimits } from "@durable/core/storage";
import type { Database } from "./database.ts";
import { clock } from "./sql/clock.ts";
import { slotUseText } from "./sql/limits.ts";
import { put, take } from "./text.ts";

export function postgresLimits(database: Database): StorageLimits {
  const { quoted } = database.settings;
  const now = (): number | null => database.settings.now?.() ?? null;
  const time = clock("$2::float8");
  return {
    slots: () =>
      database.do(async () => {
        const rows = await database.rows<SlotUse>(slotUseText(quoted), [now()]);
        return rows
          .filter(({ taken, waiting }) => taken + waiting > 0)
          .map((row) => ({ ...row, workflow: take(row.workflow), slot: take(row.slot) }));
      }),
    read: (name) =>
      database.do(async () => {
        const text = `SELECT ${time} AS now, (SELECT t.value FROM ${quoted}.limit_texts t
          WHERE t.name = $1 AND t.until > ${time}) AS value`;
        const [row] = await database.rows<{ now: number; value: string | null }>(text, [put(name), now()]);
        return { value: row?.value ?? null, now: row?.now ?? 0 };
      }),
    swap: (name, before, after, keepMs) =>
      database.do(async () => {
        const text = `SELECT ${quoted}.swap_text($1, $2, $3, $4, $5) AS done`;
        const values = [put(name), before, after, keepMs, now()];
        const [row] = await database.rows<{ done: boolean }>(text, values);
        return row?.done === true;
      }),
    put: (name, value, keepMs) =>
      database.do(async () => {
        // The setting holds for this statement, which is a transaction of its own.
        const text = `WITH unsynced AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
          INSERT INTO ${quoted}.limit_texts (name, value, until)
          SELECT $1, $3, ${time} + $4::float8 FROM unsynced
          ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until`;
        await database.rows(text, [put(name), now(), value, keepMs]);
      }),
    texts: (prefix) =>
      database.do(async () => {
        const text = `SELECT t.name, t.value FROM ${quoted}.limit_texts t
          WHERE starts_with(t.name, $1) AND t.until > ${time} ORDER BY t.name`;
        const rows = await database.rows<{ name: string; value: string }>(text, [put(prefix), now()]);
        return rows.map((row) => ({ name: take(row.name), value: row.value }));
      }),
  };
}

/** Limits as the functions take them: names of workflows, and their numbers. */
export function slotColumns(slots: SlotLimits, of?: readonly string[]): [string[], number[]] {
  const limited = Object.entries(slots).filter(([workflow]) => of?.includes(workflow) !== false);
  return [limited.map(([workflow]) => put(workflow)), limited.map(([, most]) => most)];
}
