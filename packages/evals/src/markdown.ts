/** The report for a pull request. */

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

const most = 20;
const timeNote =
  "The time is what models took per run for what was asked again: the median, and the 95th percentile.";

export function markdownOf(report: ReportData): string {
  const { name, runs, scores, variants, cases, checks, passed } = report;
  const timed = hasTimes(report);
  const head = [
    "Variant",
    "n",
    ...scores.flatMap((score) => [score, "change"]),
    "Better",
    "Worse",
    "Same",
    "None",
    ...(timed ? ["Time"] : []),
  ];
  const rows = variants.map((variant) => [
    variant.name,
    variant.n,
    ...scores.flatMap((score) => {
      const one = variant.scores[score];
      return one === undefined ? ["-", ""] : [meanText(one), changeText(one)];
    }),
    variant.better,
    variant.worse,
    variant.same,
    variant.stopped + variant.failed + variant.skipped,
    ...(timed ? [timeText(variant)] : []),
  ]);
  const worse = cases.filter(({ verdict }) => verdict === "worse");
  return [
    `## ${escaped(name)}: ${passed ? "passed" : "failed"}`,
    "",
    `${runs} recorded runs. Means with a 95 % interval; the change is that of each run against itself.${timed ? ` ${timeNote}` : ""}`,
    "",
    line(head),
    line(head.map((_, i) => (i === 0 ? "---" : "--:"))),
    ...rows.map((row) => line(row.map((cell) => escaped(String(cell))))),
    "",
    ...checks.map((check) => `- ${check.passed ? "passed" : "**missed**"}: ${escaped(check.text)}`),
    ...(worse.length === 0 ? [] : ["", `### ${worse.length} got worse`]),
    ...worse.slice(0, most).flatMap((one) => caseLines(one, scores)),
    "",
    ...moneyLines(report).map(escaped),
    "",
  ].join("\n");
}

const line = (cells: readonly unknown[]): string => `| ${cells.join(" | ")} |`;

function caseLines(one: CaseReport, names: readonly string[]): string[] {
  const { runId, variant, label, scored, before, after, beforeText, afterText } = one;
  const changes = names
    .filter((score) => before[score] !== after[score])
    .map((score) => `${score} ${scoreText(before[score])} → ${scoreText(after[score])}`);
  const words = wordDiff(beforeText, afterText).map(({ kind, text }) =>
    kind === "same" ? escaped(text) : kind === "old" ? `~~${escaped(text)}~~` : `**${escaped(text)}**`,
  );
  const title = `${runId}${label === null ? "" : ` “${label}”`} (${variant}): ${changes.join(", ")}`;
  const given = scored.length === 0 ? [] : ["", `The record has ${escaped(givenText(scored))}.`];
  const share = shareText(one) === "" ? [] : ["", `${shareText(one)}.`];
  return [
    "",
    `<details><summary>${html(title)}</summary>`,
    "",
    words.join(" "),
    ...given,
    ...share,
    "",
    "</details>",
  ];
}

function escaped(text: string): string {
  return html(text).replaceAll(/[\\`*_{}[\]()#|~]/g, String.raw`\$&`);
}

function html(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
