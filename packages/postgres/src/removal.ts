/** Deletes runs, and adds what they used to the sums of deleted runs, in the same commit. */

import type { RunHead } from "@durable/core";
import type { Database } from "./database.ts";
import { readUsed, spentText, usedText, type UsedRow } from "./sql/spent.ts";

/** Asks again while the run changes in between. */
export async function deleteRun(database: Database, locator: string): Promise<void> {
  const schema = database.settings.quoted;
  const text = `SELECT ${schema}.delete($1, $2, $3) AS done`;
  for (let done = false; !done;) {
    const [row] = await database.rows<UsedRow>(readUsed(schema), [locator]);
    const used = row === undefined ? null : usedText(locator, row);
    const [reply] = await database.rows<{ done: boolean }>(text, [locator, row?.marks ?? null, used]);
    done = reply?.done === true;
  }
}

/** Deletes the runs that are still as these heads say; returns which. */
export async function deleteRuns(database: Database, heads: readonly RunHead[]): Promise<readonly string[]> {
  const columns = [
    heads.map(({ locator }) => locator),
    heads.map(({ status }) => status),
    heads.map(({ createdAt }) => createdAt),
    heads.map(({ updatedAt }) => updatedAt),
    spentText(heads),
  ];
  const text = `SELECT * FROM ${database.settings.quoted}.delete_unchanged($1, $2, $3, $4, $5) AS d (locator)`;
  return (await database.rows<{ locator: string }>(text, columns)).map(({ locator }) => locator);
}
