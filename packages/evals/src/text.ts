/** The report for a terminal. */

import {
  changeText,
  givenText,
  hasTimes,
  meanText,
  moneyLines,
  scoreText,
  shareText,
  timeText,
} from "./figures.ts";
import type { CaseReport, ReportData } from "./report.ts";
import { wordDiff } from "./words.ts";

/** Cases of one kind that are shown. */
const most = 10;
const longest = 600;

export function textOf(report: ReportData): string {
  const { name, runs, scores, variants, cases, checks } = report;
  const timed = hasTimes(report);
  const rows = variants.map((variant) => [
    variant.name,
    String(variant.n),
    ...scores.flatMap((score) => {
      const one = variant.scores[score];
      return one === undefined ? ["-", ""] : [meanText(one), changeText(one)];
    }),
    ...[variant.better, variant.worse, variant.same, variant.stopped + variant.failed + variant.skipped].map(
      String,
    ),
    ...(timed ? [timeText(variant)] : []),
  ]);
  const head = [
    "variant",
    "n",
    ...scores.flatMap((score) => [score, "change"]),
    "better",
    "worse",
    "same",
    "none",
    ...(timed ? ["time"] : []),
  ];
  const shown = (verdict: CaseReport["verdict"], title: string): string[] => {
    const all = cases.filter((one) => one.verdict === verdict);
    if (all.length === 0) return [];
    const rest = all.length > most ? [`  and ${all.length - most} more`] : [];
    return [
      "",
      `${all.length} ${title}:`,
      ...all.slice(0, most).flatMap((one) => caseLines(one, scores)),
      ...rest,
    ];
  };
  return [
    `${name}: ${runs} recorded runs`,
    "",
    ...table([head, ...rows]),
    ...shown("worse", "got worse"),
    ...shown("stopped", "stopped off the record"),
    ...shown("failed", "failed"),
    "",
    ...moneyLines(report),
    ...checks.map(({ text, passed }) => `${passed ? "ok  " : "MISS"} ${text}`),
  ].join("\n");
}

function caseLines(one: CaseReport, names: readonly string[]): string[] {
  const { runId, variant, label, scored, before, after, beforeText, afterText, reason } = one;
  const changes = names
    .filter((score) => before[score] !== after[score])
    .map((score) => `${score} ${scoreText(before[score])} -> ${scoreText(after[score])}`);
  const title = `  ${runId}${label === null ? "" : ` "${label}"`} (${variant})`;
  const share = shareText(one) === "" ? [] : [`    ${shareText(one)}`];
  if (reason !== null) return [title, `    ${reason}`, ...share];
  const words = wordDiff(beforeText, afterText).map(({ kind, text }) =>
    kind === "same" ? text : kind === "old" ? `[-${text}-]` : `{+${text}+}`,
  );
  const text = words.join(" ");
  return [
    `${title}: ${changes.join(", ")}`,
    ...(scored.length === 0 ? [] : [`    the record has ${givenText(scored)}`]),
    `    ${text.length > longest ? `${text.slice(0, longest)}...` : text}`,
    ...share,
  ];
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row[i] ?? "").length)));
  return rows.map((row) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
