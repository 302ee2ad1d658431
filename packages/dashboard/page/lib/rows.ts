/** Which rows the timeline has, and in which order. Proven in test/run-page.test.ts. */

import type { Row, RunPage } from "../../src/api.ts";
import { isUndo } from "./story.ts";

/** A row, and what the timeline knows of it. */
export type ShownRow = Row & {
  /** The branch of which this is the only call. */
  readonly branch?: string;
  /** Names this row among those of all runs that are shown. */
  readonly id: string;
  /** The child that it belongs to; missing for rows of the run itself. */
  readonly run?: string;
  /** Which try it was part of, where a retry struck it. */
  readonly tried?: number;
  /** True for what takes back what a step did. */
  readonly undoes?: true;
  /** True for a step that was taken back. */
  readonly undone?: true;
  /** True for a row that can be opened, and whether it is. */
  readonly open?: boolean;
};

/** Which tries of a run that was retried are shown. */
export type Tries = "both" | "old" | "new";

export interface RowsOptions {
  readonly tries: Tries;
  /** Ids of groups that are closed. */
  readonly closed: ReadonlySet<string>;
  /** Children that are open, and what is known of them. */
  readonly children: ReadonlyMap<string, RunPage | null>;
}

export const undoKey = "undo";
const longestLine = 3;

/** The rows of a run, with those of children that are open. */
export function shownRows(run: RunPage, options: RowsOptions): ShownRow[] {
  return rowsIn(run, options, 0);
}

function rowsIn(run: RunPage, options: RowsOptions, level: number): ShownRow[] {
  const { tries, closed, children } = options;
  const inside = level === 0 ? "" : `${run.runId} `;
  const own = level === 0 ? {} : { run: run.runId };
  const tried = new Map(run.retries.map(({ at }, i) => [at, i + 1]));
  const wanted = run.rows.filter(({ struck }) => level > 0 || isWanted(tries, struck));
  const isAside = new Map(wanted.map((row) => [row.key, isUndo(row) && row.struck === undefined]));
  const undone = new Set(
    wanted
      .filter(({ key, status }) => key.endsWith("/compensate") && status === "completed")
      .map(({ key }) => key.slice(0, -"/compensate".length)),
  );
  const main = withGroups(compact(wanted.filter(({ key }) => isAside.get(key) !== true)));
  const rows = [...main, ...undoRows(wanted.filter(({ key }) => isAside.get(key) === true))];
  const hidden = new Set<string>();
  return rows.flatMap(({ isGroup, ...row }): ShownRow[] => {
    const id = inside + row.key;
    if (row.parent !== null && (hidden.has(row.parent) || closed.has(inside + row.parent))) {
      hidden.add(row.key);
      return [];
    }
    const depth = Math.min(row.depth + level, 8);
    const which = row.struck === undefined ? undefined : tried.get(row.struck);
    const about = {
      ...row,
      ...own,
      id,
      depth,
      ...(which === undefined ? {} : { tried: which }),
      ...(undone.has(row.key) ? { undone: true as const } : {}),
    };
    if (row.child === undefined) return [isGroup ? { ...about, open: !closed.has(id) } : about];
    if (!children.has(row.child)) return [{ ...about, open: false }];
    const child = children.get(row.child) ?? null;
    const below = child === null || level >= longestLine ? [] : rowsIn(child, options, level + 1 + row.depth);
    return [{ ...about, open: true }, ...below];
  });
}

function isWanted(tries: Tries, struck: number | undefined): boolean {
  return tries === "both" || (tries === "old") === (struck !== undefined);
}

type Line = Row & { readonly branch?: string; readonly undoes?: true; readonly isGroup: boolean };

function withGroups(rows: readonly (Row & { readonly branch?: string })[]): Line[] {
  const parents = new Set(rows.map(({ parent }) => parent));
  return rows.map((row) => ({ ...row, isGroup: parents.has(row.key) }));
}

/** What was taken back stands last, in a group of its own, so that time does not run backwards down the page. */
function undoRows(rows: readonly Row[]): Line[] {
  const [first] = rows;
  if (first === undefined) return [];
  const open = rows.some(({ endedAt }) => endedAt === null);
  const group: Line = {
    key: undoKey,
    name: "Undo, last first",
    kind: "parallel",
    status: open ? "open" : rows.some(({ status }) => status === "failed") ? "failed" : "completed",
    depth: 0,
    parent: null,
    startedAt: Math.min(...rows.map(({ startedAt }) => startedAt)),
    endedAt: open ? null : Math.max(...rows.map(({ endedAt }) => endedAt ?? 0)),
    attempts: [],
    seq: null,
    undoes: true,
    isGroup: true,
  };
  const ordered = rows.toSorted((a, b) => a.startedAt - b.startedAt);
  return [
    group,
    ...ordered.map((row): Line => {
      const name = row.key.endsWith("/compensate") ? nameOfStep(row.key) : row.name;
      return { ...row, name, depth: 1, parent: undoKey, undoes: true, isGroup: false };
    }),
  ];
}

function nameOfStep(key: string): string {
  const step = key.slice(0, -"/compensate".length);
  return step.slice(step.lastIndexOf("/") + 1);
}

/** A branch with a single call is one line: the name of the branch, and the call. */
export function compact(rows: readonly Row[]): (Row & { readonly branch?: string })[] {
  const below = new Map<string, number>();
  for (const { parent } of rows) if (parent !== null) below.set(parent, (below.get(parent) ?? 0) + 1);
  const single = new Map<string, Row>();
  return rows.flatMap((row, i): (Row & { readonly branch?: string })[] => {
    const next = rows[i + 1];
    if (
      row.kind === "branch" &&
      below.get(row.key) === 1 &&
      next?.parent === row.key &&
      !below.has(next.key)
    ) {
      single.set(row.key, row);
      return [];
    }
    const branch = row.parent === null ? undefined : single.get(row.parent);
    return [
      branch === undefined
        ? row
        : { ...row, branch: branch.name, parent: branch.parent, depth: branch.depth },
    ];
  });
}
