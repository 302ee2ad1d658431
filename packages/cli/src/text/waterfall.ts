/** The waterfall of a run: one line per row, with lanes for branches, a bar in time, and what it took and cost. */

import { countText, spendOf, type Prices } from "@durable/core/inspect";
import { allRows, type RowView, type RunView } from "@durable/core/inspect";
import { styled, unstyled, type Terminal } from "../terminal.ts";
import { axisLine, layAxis } from "./axis.ts";
import { barOf } from "./bar.ts";
import { duration, money, tokens, turnText, when } from "./format.ts";
import type { ChildSums } from "./spent.ts";
import { fit, padEnd, padStart, widthOf } from "./width.ts";

export interface WaterfallOptions {
  readonly term: Terminal;
  readonly now: number;
  readonly prices?: Prices | undefined;
  /** What the children have used. */
  readonly sums?: ChildSums | undefined;
  /** Shows every row; otherwise long runs are cut in the middle. */
  readonly all?: boolean | undefined;
  /** Folds idle gaps; true by default. */
  readonly fold?: boolean | undefined;
}

const mostRows = 120;
const labelAtMost = 38;
/** With names of model calls, which are read rather than typed. */
const wideLabel = 60;

interface Line {
  readonly row: RowView;
  readonly label: string;
}

export function waterfall(view: RunView, options: WaterfallOptions): string[] {
  const rows = allRows(view);
  if (rows.length === 0) return [styled("dim", "  Nothing is recorded yet.")];
  const { term, now, prices, sums = {}, all = false, fold = true } = options;
  const lines = lanes(rows, term, now);
  const numbers = new Map(rows.map((row) => [row, numbersOf(row, { now, prices, sums })]));
  const wanted = ([0, 1, 2] as const).map((i) =>
    Math.max(0, ...[...numbers.values()].map((cells) => widthOf(cells[i]))),
  );
  const { label, widths, chart } = share(
    term.width,
    {
      longest: Math.max(...lines.map((line) => widthOf(line.label))),
      most: rows.some(({ turn }) => turn !== undefined) ? wideLabel : labelAtMost,
    },
    wanted,
  );
  const columns = layAxis(rows, chart, { now, fold });
  const line = (text: string, bar: string, cells: readonly string[]): string =>
    ` ${padEnd(fit(text, label), label)}  ${padEnd(bar, chart)}${widths
      .map((width, i) => (width === 0 ? "" : `  ${padStart(cells[i] ?? "", width)}`))
      .join("")}`.trimEnd();
  const drawn = lines.map(({ row, label: text }) =>
    line(text, barOf(row, columns, { term, now }), numbers.get(row) ?? []),
  );
  return [
    styled("dim", line("", axisLine(columns, term.ascii), ["took", "tokens", "cost"])),
    ...(all ? drawn : shorten(drawn, view.runId)),
  ];
}

const chartAtLeast = 16;

/** Shares the width: a narrow terminal loses the cost, then the tokens, then a part of the labels. */
function share(
  width: number,
  { longest, most }: { readonly longest: number; readonly most: number },
  wanted: readonly number[],
): { readonly label: number; readonly widths: readonly number[]; readonly chart: number } {
  const widths = [...wanted];
  const right = (): number => widths.reduce((sum, each) => sum + (each === 0 ? 0 : each + 2), 0);
  const label = Math.min(most, longest);
  for (let i = widths.length - 1; i > 0 && width - label - right() - 3 < chartAtLeast; i--) widths[i] = 0;
  const fitting = Math.max(12, Math.min(label, width - right() - 3 - chartAtLeast));
  return { label: fitting, widths, chart: Math.max(chartAtLeast, width - fitting - right() - 3) };
}

function shorten(lines: readonly string[], runId: string): readonly string[] {
  if (lines.length <= mostRows) return lines;
  const [head, tail] = [lines.slice(0, 80), lines.slice(-30)];
  const left = lines.length - head.length - tail.length;
  return [
    ...head,
    styled("dim", `   ... ${left.toLocaleString("en")} more rows: durable show ${runId} --all`),
    ...tail,
  ];
}

function numbersOf(
  row: RowView,
  { now, prices, sums }: { now: number; prices: Prices | undefined; sums: ChildSums },
): [string, string, string] {
  const spend = spendOf(row.usage, prices);
  const took = duration((row.endedAt ?? now) - row.startedAt);
  const hasTime = row.kind !== "branch" && row.kind !== "parallel" && row.kind !== "race";
  const isIdle = row.kind === "cleanup" && (row.status === "registered" || row.status === "closed");
  if (!hasTime || isIdle) return ["", "", ""];
  const open = row.kind === "sleep" && row.endedAt === null ? leftOf(row, now) : `${took}…`;
  const child = row.child === undefined ? undefined : sums[row.child];
  if (child !== undefined && !row.fromJournal && child.tokens > 0)
    return [row.endedAt === null ? open : took, countText(child.tokens), money(child.cost)];
  return [
    row.endedAt === null ? open : took,
    tokens(spend),
    spend.inputTokens + spend.outputTokens > 0 ? money(spend.cost) : "",
  ];
}

function leftOf({ until = 0 }: RowView, now: number): string {
  return until > now ? `${duration(until - now)} left` : "due";
}

const glyphs: Record<RowView["status"], readonly [string, string]> = {
  completed: ["✓", "+"],
  failed: ["✗", "x"],
  expired: ["✗", "x"],
  open: ["◐", "*"],
  retrying: ["↻", "~"],
  closed: ["⊘", "-"],
  registered: ["○", "o"],
};

/** Labels with lanes: `├` and `└` for branches, and a rail beside what is inside them. */
function lanes(rows: readonly RowView[], term: Terminal, now: number): Line[] {
  const children = new Map<string | null, RowView[]>();
  for (const row of rows) {
    const siblings = children.get(row.parent);
    if (siblings === undefined) children.set(row.parent, [row]);
    else siblings.push(row);
  }
  const lines: Line[] = [];
  const add = (row: RowView, prefix: string, rail: string): void => {
    if (row.struck !== undefined) {
      const label = `${glyphOf(row, term)} ${row.key}, before the retry of ${when(row.struck, now, term)}`;
      return void lines.push({ row, label: styled("dim", unstyled(label)) });
    }
    const inside = children.get(row.key) ?? [];
    const [only] = inside;
    // A branch with a single call is one line.
    if (row.kind === "branch" && inside.length === 1 && only !== undefined && !children.has(only.key)) {
      const name = only.name === row.name ? row.name : `${row.name}/${keyName(only)}`;
      lines.push({ row: only, label: `${prefix}${labelOf(only, name, term)}` });
      return;
    }
    lines.push({
      row,
      label: `${prefix}${labelOf(row, row.kind === "branch" ? row.name : keyName(row), term)}`,
    });
    inside.forEach((child, i) => {
      const last = i === inside.length - 1;
      if (child.kind !== "branch")
        return add(child, `${rail}${row.kind === "branch" ? "" : "  "}`, `${rail}  `);
      const [turn, side] = last
        ? [term.glyph("└ ", "\\ "), "  "]
        : [term.glyph("├ ", "+ "), term.glyph("│ ", "| ")];
      return add(child, rail + styled("dim", turn), rail + styled("dim", side));
    });
  };
  for (const row of children.get(null) ?? []) add(row, "", "");
  return lines;
}

/** The last part of a key, with its number. */
function keyName({ key }: RowView): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

function labelOf(row: RowView, name: string, term: Terminal): string {
  const tries = row.attempts.length > 1 ? styled("dim", ` try ${row.attempts.length}`) : "";
  const edited = row.edited ? styled("yellow", ` ${term.glyph("✎", "edited")}`) : "";
  const about = turnText(row);
  const said = about === "" ? "" : styled("dim", ` ${about}`);
  return `${glyphOf(row, term)} ${row.kind === "branch" ? styled("bold", name) : name}${edited}${tries}${said}`;
}

function glyphOf(row: RowView, term: Terminal): string {
  const { kind, status } = row;
  if (kind === "branch") return styled("dim", term.glyph("┬", "+"));
  if (kind === "parallel" || kind === "race") return styled("dim", term.glyph("⫶", "="));
  if (row.fromJournal) return styled("dim", term.glyph("↺", "<"));
  if (status === "open" && kind === "suspend") return styled("yellow", term.glyph("⏸", "?"));
  if (status === "open" && kind === "sleep") return styled("magenta", term.glyph("⏾", "z"));
  const [fancy, ascii] = glyphs[status];
  const style =
    status === "completed" ? "green" : status === "failed" || status === "expired" ? "red" : "blue";
  return styled(status === "closed" || status === "registered" ? "dim" : style, term.glyph(fancy, ascii));
}
