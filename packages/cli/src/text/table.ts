/** Rows of cells in columns. If a row does not fit, columns that may be cut are cut first; then columns are left out. */

import { styled } from "../terminal.ts";
import { fit, padEnd, padStart, widthOf } from "./width.ts";

export interface Column {
  readonly title: string;
  readonly right?: boolean;
  /** May be cut to this many columns. */
  readonly least?: number;
  /** May be left out in a narrow terminal. */
  readonly optional?: boolean;
}

interface Placed {
  readonly column: Column;
  readonly i: number;
  readonly width: number;
}

export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const used = columns
    .map((column, i) => ({ column, i, width: widest(column, rows, i) }))
    .filter(({ i, column }) => column.least !== undefined || rows.some((row) => (row[i] ?? "") !== ""));
  const placed = squeeze(used, width);
  const line = (cells: readonly string[]): string =>
    placed
      .map(({ column, i, width: room }) => {
        const cell = fit(cells[i] ?? "", room);
        return column.right === true ? padStart(cell, room) : padEnd(cell, room);
      })
      .join("  ")
      .trimEnd();
  return [styled("dim", line(columns.map(({ title }) => title))), ...rows.map(line)];
}

function widest({ title }: Column, rows: readonly (readonly string[])[], i: number): number {
  return Math.max(widthOf(title), ...rows.map((row) => widthOf(row[i] ?? "")));
}

/** Cuts from the right; if that is not enough, leaves out what is optional, and tries again. */
function squeeze(used: readonly Placed[], width: number): readonly Placed[] {
  let over = used.reduce((sum, each) => sum + each.width + 2, -2) - width;
  const cut = used.toReversed().map((each) => {
    const { least } = each.column;
    if (over <= 0 || least === undefined) return each;
    const room = Math.max(Math.min(least, each.width), each.width - over);
    over -= each.width - room;
    return { ...each, width: room };
  });
  const last = used.findLastIndex(({ column }) => column.optional === true);
  if (over <= 0 || last === -1) return cut.toReversed();
  return squeeze(used.toSpliced(last, 1), width);
}
