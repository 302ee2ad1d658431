/** Rows of cells in columns. The widest column that may shrink is cut when the table does not fit. */

import { styled } from "../terminal.ts";
import { fit, padEnd, padStart, widthOf } from "./width.ts";

export interface Column {
  readonly title: string;
  readonly right?: boolean;
  /** May be cut to this many columns. */
  readonly least?: number;
}

export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const used = columns
    .map((column, i) => ({ column, i }))
    .filter(({ i, column }) => column.least !== undefined || rows.some((row) => (row[i] ?? "") !== ""));
  const widths = new Map(
    used.map(({ column, i }) => [
      i,
      Math.max(widthOf(column.title), ...rows.map((row) => widthOf(row[i] ?? ""))),
    ]),
  );
  const total = (): number => [...widths.values()].reduce((sum, each) => sum + each + 2, -2);
  for (const { column, i } of used.toReversed()) {
    const over = total() - width;
    if (over > 0 && column.least !== undefined)
      widths.set(i, Math.max(column.least, (widths.get(i) ?? 0) - over));
  }
  const line = (cells: readonly string[]): string =>
    used
      .map(({ column, i }) => {
        const cell = fit(cells[i] ?? "", widths.get(i) ?? 0);
        return column.right === true ? padStart(cell, widths.get(i) ?? 0) : padEnd(cell, widths.get(i) ?? 0);
      })
      .join("  ")
      .trimEnd();
  return [styled("dim", line(columns.map(({ title }) => title))), ...rows.map(line)];
}
