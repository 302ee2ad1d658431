/** The report as one HTML file: no script, nothing is loaded, and every text is escaped. */

import { amountText, hasTimes, moneyLines, msText, percent, scoreText, shareText } from "./figures.ts";
import { style } from "./html-style.ts";
import { bestOf } from "./best.ts";
import type { CaseReport, ReportData, ScoreReport, VariantReport } from "./report.ts";
import type { Estimate } from "./statistics.ts";
import { wordDiff } from "./words.ts";

/** Cases of one kind that are shown whole. */
const most = 50;

export function htmlOf(report: ReportData): string {
  const { name, runs, variants, cases, checks } = report;
  const kinds = [
    ["worse", "Worse"],
    ["stopped", "Stopped off the record"],
    ["failed", "Failed"],
    ["better", "Better"],
    ["same", "Same"],
  ] as const;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(name)} · eval</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><style>${style}</style></head>
<body><main>
<h1>${escaped(titleOf(report))}</h1>
<p class="soft">${escaped(name)}: ${runs} recorded runs. Everything before the cut came from the journals.</p>
<section class="card vars" aria-label="Variants">${variants.map((one) => variantCard(one, report)).join("")}
<div><h2>Paid for this report</h2>${moneyLines(report)
    .map((line) => `<p>${escaped(line)}</p>`)
    .join("")}</div></section>
${scoresTable(report)}
${variants
  .slice(1)
  .map((variant) => squares(variant, cases))
  .join("")}
${checks.length === 0 ? "" : `<section class="card pad"><h2>Thresholds</h2><ul>${checks.map(({ text, passed }) => `<li class="${passed ? "ok" : "bad"}">${passed ? "kept" : "missed"}: ${escaped(text)}</li>`).join("")}</ul></section>`}
${kinds.map(([verdict, title]) => casesOf(report, verdict, title)).join("")}
</main></body></html>
`;
}

/** What the report says, in one line. */
function titleOf(report: ReportData): string {
  const best = bestOf(report);
  if (best === null) return "Nothing to compare";
  const points = `${(100 * Math.abs(best.change)).toFixed(1)} points`;
  const is =
    best.change > 0
      ? `better by ${points}`
      : best.change < 0
        ? `worse by ${points}`
        : "as good as the record";
  return `${best.name} is ${is}; ${best.worse} ${best.worse === 1 ? "run" : "runs"} got worse`;
}

function variantCard(
  { name, n, scores, paid }: VariantReport,
  { scores: [primary = ""], variants }: ReportData,
): string {
  const one = scores[primary];
  const isRecord = name === variants[0]?.name;
  const figure =
    one === undefined
      ? "-"
      : `${percent(one.mean)}<small>± ${((100 * (one.high - one.low)) / 2).toFixed(1)}</small>`;
  return `<div><h2>${escaped(name)}${isRecord ? ' <span class="tag">baseline</span>' : ""}</h2><strong>${figure}</strong>
<p>${escaped(primary)}, n ${n}${isRecord ? "" : `; ${escaped(amountText(paid))}`}</p>${one === undefined ? "" : bar(one)}</div>`;
}

const at = (value: number): string => `${(100 * Math.min(1, Math.max(0, value))).toFixed(1)}%`;

/** An interval between 0 and 1. */
function bar({ mean, low, high }: Estimate): string {
  return `<div class="ci" aria-hidden="true"><i style="left:${at(low)};width:${at(high - low)}"></i><b style="left:${at(mean)}"></b></div>`;
}

function scoreCell(one: ScoreReport | undefined): string {
  if (one === undefined) return "<td>-</td>";
  const { change } = one;
  const range = `${(100 * one.low).toFixed(1)} to ${(100 * one.high).toFixed(1)}`;
  const kind =
    change === null || (change.low <= 0 && change.high >= 0) ? "soft" : change.mean > 0 ? "ok" : "bad";
  const against =
    change === null
      ? ""
      : `<small class="${kind}">${signed(change.mean)} (${signed(change.low)} to ${signed(change.high)})</small>`;
  return `<td><b>${percent(one.mean)}</b><small>${range}</small>${against}</td>`;
}

/** A row of the table: how long the answers took. */
function timeRow(report: ReportData): string {
  if (!hasTimes(report)) return "";
  const cells = report.variants.map(({ time }) =>
    time === null
      ? "<td>-</td>"
      : `<td><b>${msText(time.median)}</b><small>p95 ${msText(time.p95)}</small></td>`,
  );
  return `<tr><th scope="row">Time, median<small>of models, per run</small></th>${cells.join("")}</tr>`;
}

function scoresTable(report: ReportData): string {
  const { scores, variants } = report;
  const rows = scores.map(
    (score) =>
      `<tr><th scope="row">${escaped(score)}</th>${variants.map((one) => scoreCell(one.scores[score])).join("")}</tr>`,
  );
  return `<section class="card" aria-label="Scores"><header><h2>Scores</h2><span class="soft">95 % interval; the change is that of each run against itself</span></header>
<table><thead><tr><th scope="col">Measure</th>${variants.map(({ name }) => `<th scope="col">${escaped(name)}</th>`).join("")}</tr></thead><tbody>${rows.join("")}${timeRow(report)}</tbody></table></section>`;
}

const signed = (value: number): string => `${value < 0 ? "−" : "+"}${(100 * Math.abs(value)).toFixed(1)}`;

/** One square for each run. */
function squares(
  { name, better, worse, same, stopped, failed, skipped }: VariantReport,
  cases: readonly CaseReport[],
): string {
  const own = cases.filter(({ variant }) => variant === name);
  const none = stopped + failed + skipped;
  const label = `${worse} worse, ${better} better, ${same} the same${none === 0 ? "" : `, ${none} without an answer`}`;
  const all = own
    .map(({ verdict, runId }) => `<i class="q-${verdict}" title="${escaped(runId)}"></i>`)
    .join("");
  return `<section class="card pad"><h2>${escaped(name)}, run by run</h2><div class="squares" role="img" aria-label="${escaped(label)}">${all}</div><p>${escaped(label)}.</p></section>`;
}

function casesOf({ cases, scores }: ReportData, verdict: CaseReport["verdict"], title: string): string {
  const all = cases.filter((one) => one.verdict === verdict);
  if (all.length === 0) return "";
  const rest = all.length > most ? `<p class="soft">and ${all.length - most} more.</p>` : "";
  const isOpen = verdict === "worse" ? " open" : "";
  return `<details${isOpen}><summary><h2>${title} <span class="tag">${all.length}</span></h2></summary>${all
    .slice(0, most)
    .map((one) => caseArticle(one, scores))
    .join("")}${rest}</details>`;
}

function caseArticle(one: CaseReport, scores: readonly string[]): string {
  const { runId, forkId, label, variant, verdict, before, after, beforeText, afterText, reason } = one;
  const given = one.scored.map(
    ({ name, value, note = "" }) =>
      `<li class="soft"><span>${escaped(name)}, of the record</span><span>${scoreText(value)}</span></li>${note === "" ? "" : `<li class="soft">${escaped(note)}</li>`}`,
  );
  const pieces = wordDiff(beforeText, afterText);
  const words = (kind: "old" | "new", tag: "del" | "ins"): string =>
    pieces
      .filter((piece) => piece.kind === "same" || piece.kind === kind)
      .map(({ kind: own, text }) => (own === "same" ? escaped(text) : `<${tag}>${escaped(text)}</${tag}>`))
      .join(" ");
  const figures = scores.map(
    (score) =>
      `<li><span>${escaped(score)}</span><span>${scoreText(before[score])} → ${scoreText(after[score])}</span></li>`,
  );
  return `<article class="card case q-${verdict}"><header><h3>${escaped(label ?? runId)}</h3><code>${escaped(runId)}</code><span class="tag">${escaped(variant)}</span><code>${escaped(forkId)}</code></header>
<div class="ba"><div><small>record</small><p>${words("old", "del")}</p></div><div><small>${escaped(variant)}</small><p>${reason === null ? words("new", "ins") : escaped(reason)}</p></div><ul>${figures.join("")}${given.join("")}${shareLine(one)}</ul></div></article>`;
}

function shareLine(one: CaseReport): string {
  const share = shareText(one);
  return share === "" ? "" : `<li class="soft">${escaped(share)}</li>`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
