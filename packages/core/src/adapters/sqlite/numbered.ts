/** Statements whose parameters have numbers. Node 22 binds values only to parameters without a name or a number. */

import type { DatabaseSync, StatementSync, SQLInputValue } from "node:sqlite";

type Numbered = Pick<StatementSync, "get" | "all" | "run" | "sourceSQL">;

/** Prepares a text with `?1`, `?2`, ..., each any number of times, in any order. */
export function numbered(database: DatabaseSync, text: string): Numbered {
  const order = Array.from(text.matchAll(/\?(\d+)/g), ([, number]) => Number(number) - 1);
  const statement = database.prepare(text.replaceAll(/\?\d+/g, "?"));
  const placed = (values: readonly unknown[]): SQLInputValue[] =>
    order.map((at) => values[at] as SQLInputValue);
  return {
    get: (...values: unknown[]) => statement.get(...placed(values)),
    all: (...values: unknown[]) => statement.all(...placed(values)),
    run: (...values: unknown[]) => statement.run(...placed(values)),
    sourceSQL: statement.sourceSQL,
  };
}
