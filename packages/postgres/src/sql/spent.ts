/**
 * What deleted runs used.
 *
 * spent-sql.1. The sums grow in the transaction that hides a run, from the head that the run has then: a deletion that was
 *     asked for with another head is refused, and repeated.
 * spent-sql.2. Their rows are locked after the runs and before the blobs, in one order, so that two deletions wait for each
 *     other and do not block each other.
 */

import type { RunHead } from "@durable/core";
import { readMarks, spentOf, type SpentRow } from "@durable/core/storage";
import { put, take } from "../text.ts";
import { planned } from "./clock.ts";

/** The columns of amounts have the names of the fields. */
const amounts = [
  "inputTokens",
  "outputTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "reasoningTokens",
  "cost",
] as const;

const quoted = amounts.map((name) => `"${name}"`);

/** A sum of nothing that is known stays unknown; a cost must be known of every row. */
const summed = amounts.map((name) =>
  name === "cost" ? "CASE WHEN count(u.cost) = count(*) THEN sum(u.cost) END" : `sum(u."${name}")`,
);
const added = amounts.map((name) =>
  name === "cost"
    ? "cost = s.cost + excluded.cost"
    : `"${name}" = coalesce(s."${name}" + excluded."${name}", s."${name}", excluded."${name}")`,
);

/** A table, and the function that adds the rows of runs that are being deleted; `rows` is what `spentText` made. */
export const spentSums = (schema: string): string => `
CREATE TABLE ${schema}.spent (
  day text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  ${quoted.map((name) => `${name} float8`).join(", ")},
  PRIMARY KEY (day, workflow, model, provider)
);

CREATE FUNCTION ${schema}.keep_spent(rows text, gone text[]) RETURNS void
LANGUAGE plpgsql ${planned} AS $$
BEGIN
  INSERT INTO ${schema}.spent AS s (day, workflow, model, provider, ${quoted.join(", ")})
    SELECT u.day, u.workflow, u.model, u.provider, ${summed.join(", ")}
    FROM json_to_recordset(rows::json) AS u (locator text, day text, workflow text, model text, provider text,
      ${quoted.map((name) => `${name} float8`).join(", ")})
    WHERE u.locator = ANY (gone)
    GROUP BY u.day, u.workflow, u.model, u.provider ORDER BY u.day, u.workflow, u.model, u.provider
  ON CONFLICT (day, workflow, model, provider) DO UPDATE SET ${added.join(", ")};
END $$;
`;

const text = (value: string): string => put(value).toWellFormed();

/** What these runs used, as a parameter; `null` when it is nothing. Texts in it have no character that JSON of Postgres refuses. */
export function spentText(heads: readonly Pick<RunHead, "locator" | "workflow" | "usage">[]): string | null {
  const rows = heads.flatMap((head) =>
    spentOf(head).map(({ day, workflow, model, provider = "", ...counted }) => ({
      ...counted,
      locator: head.locator,
      day,
      workflow: text(workflow),
      model: text(model),
      provider: text(provider),
    })),
  );
  return rows.length === 0 ? null : JSON.stringify(rows);
}

/** What a run has that is about to be deleted. */
export interface UsedRow {
  readonly workflow: string;
  readonly marks: string | null;
}

export const readUsed = (schema: string): string =>
  `SELECT workflow, marks FROM ${schema}.runs WHERE locator = $1 AND NOT deleted`;

export function usedText(locator: string, { workflow, marks }: UsedRow): string | null {
  const { usage } = readMarks(marks === null ? null : take(marks));
  return usage === undefined ? null : spentText([{ locator, workflow: take(workflow), usage }]);
}

export const readSpent = (schema: string): string =>
  `SELECT * FROM ${schema}.spent ORDER BY day, workflow, model, provider`;

export function spentRow(row: Readonly<Record<string, unknown>>): SpentRow {
  const known = Object.entries(row).filter(([, value]) => value !== null && value !== "");
  const texts = known.map(([name, value]) => [name, typeof value === "string" ? take(value) : value]);
  return Object.fromEntries(texts) as SpentRow;
}
