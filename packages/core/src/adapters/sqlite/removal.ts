/** Deletes runs, inside a commit (commits.ts). Proven by the conformance suite. */

import { isUnchanged } from "../../ports/storage-kit.ts";
import type { RunHead } from "../../ports/storage.ts";
import { hasFields, parsed } from "../../values/shown.ts";
import { spentOf, sumSpent, type SpentRow } from "../../values/usage.ts";
import { headOf, believed, type Row, type Statements, type Value } from "./statements.ts";
import { checkRun, damaged, headSum } from "./sums.ts";

/** Hides a run; removes it, and then its deleted ancestors, once no fork reads them. */
export function deleteRun(sql: Statements, locator: string, path: string): void {
  hide(sql, locator, path);
  const candidates = [locator];
  for (const candidate of candidates) {
    const free = sql.free.get(candidate) as Row | undefined;
    if (free === undefined) continue;
    sql.dropBatches.run(candidate);
    sql.drop.run(candidate);
    // The run no longer reads its ancestors, so deleted ancestors may go now.
    const ancestors = JSON.parse(String(free["ancestors"])) as string[];
    for (const ancestor of ancestors) sql.dropReader.run(ancestor, candidate);
    candidates.push(...ancestors);
  }
}

/** Deletes those of these runs that are still as their heads say. */
export function deleteUnchanged(sql: Statements, heads: readonly RunHead[], path: string): string[] {
  const same = heads.filter((head) => {
    const run = sql.run.get(head.locator) as Row | undefined;
    const found = run?.["deleted"] === 0 ? believed(run, path) : "";
    // A damaged row is not as its head said, and lists show it.
    const isSame = typeof found !== "string" && isUnchanged(found.head, head);
    if (isSame) deleteRun(sql, head.locator, path);
    return isSame;
  });
  return same.map(({ locator }) => locator);
}

function hide(sql: Statements, locator: string, path: string): void {
  const run = sql.run.get(locator) as Row | undefined;
  if (run === undefined) return;
  checkRun(run, path);
  if (run["deleted"] === 0) keepSpent(sql, headOf(run), path);
  const fold = [run["status"] as Value, null, run["updated_at"] as Value, run["steps"] as Value];
  sql.hide.run(headSum(locator, fold, { length: Number(run["length"]), deleted: true }), locator);
}

/** What deleted runs used. */
export function spentRows(sql: Statements, path: string): SpentRow[] {
  return (sql.spent.all() as Row[]).map(({ row }) => spentIn(String(row), path));
}

/** A row of sums, which has no checksum: it must be one, and may be wrong. */
function spentIn(text: string, path: string): SpentRow {
  const row = parsed(text);
  const names = { day: "string", workflow: "string", model: "string" };
  const isSum = hasFields(row, { ...names, inputTokens: "number", outputTokens: "number" });
  const { provider = "", ...rest } = Object(row) as Partial<Record<string, unknown>>;
  const amounts = Object.entries(rest).filter(([name]) => !(name in names));
  if (!isSum || typeof provider !== "string" || !amounts.every(([, amount]) => Number.isFinite(amount)))
    throw damaged(path, "a row of what deleted runs used is not a sum");
  return row as SpentRow;
}

/** Adds what a run used to the sums of deleted runs. */
function keepSpent(sql: Statements, head: RunHead, path: string): void {
  for (const row of spentOf(head)) {
    const { day, workflow, model, provider = "" } = row;
    const before = (sql.spentRow.get(day, workflow, model, provider) as Row | undefined)?.["row"];
    const known = before === undefined ? [] : [spentIn(String(before), path)];
    sql.keepSpent.run(day, workflow, model, provider, JSON.stringify(sumSpent([...known, row])[0]));
  }
}
