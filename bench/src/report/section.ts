/** The section of docs/comparison.md: the figures, and every row in which a peer is better. */

import type { Workload } from "../workloads.ts";
import { FiguresOf } from "./figures.ts";
import { formatFigure } from "./format.ts";
import { goalsOf } from "./goals.ts";
import { figureTable, ratioTable } from "./markdown.ts";
import type { Report } from "./report.ts";

const [begin, end] = ["<!-- bench:begin -->", "<!-- bench:end -->"];

/** The page with a new section between its two marks. */
export function withSection(page: string, report: Report, file: string): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`The page needs the marks ${begin} and ${end}.`);
  return `${before}${begin}\n\n${section(report, file)}\n\n${end}${after}`;
}

function section(report: Report, file: string): string {
  // The page is short: the report has the rest.
  const figures = new FiguresOf({
    ...report,
    cells: report.cells.filter(({ workload }) => workload !== "B1000"),
  });
  const { os, arch, cores, node } = report.machine;
  const versions = Object.entries(report.versions).filter(([, version]) => version !== "not installed");
  const skipped = figures.subjects.filter(({ skip }) => skip !== undefined);
  return [
    `Measured on ${report.date} with \`${report.command}\`: medians of ${report.rounds} interleaved ${report.rounds === 1 ? "round" : "rounds"}, ${os} ${arch}, ${cores} cores, Node ${node}.
Steps do nothing. Compare rows, not with other machines. Versions: ${versions.map(([name, version]) => `${name} ${version}`).join(", ")}.
Not measured: ${skipped.map(({ title }) => title).join("; ")}. [The report](../bench/results/${file}.md) has the reasons and all settings;
[bench](../bench/README.md) describes the workloads, and what they leave out.`,
    figureTable(
      figures,
      ({ name, role }) => name !== "bare" && name !== "ours-memory" && role !== "floor",
      (_, { id }, { name }) => formatFigure(figures.value(id, name)),
    ),
    "Against the floor, and against the best peer that syncs every step; above 1, `durable` is better:",
    ratioTable(figures),
    missed(figures),
    losses(figures),
  ].join("\n\n");
}

/** The goals that this run does not meet. */
function missed(figures: FiguresOf): string {
  const rows = goalsOf(figures).filter(({ met }) => !met);
  const listed = rows.map(({ workload, measured }) => `${workload} (${measured})`);
  return listed.length === 0 ? "" : `Our own goals that are not met: ${listed.join(", ")}.`;
}

/** Every workload in which some peer is better than ours on SQLite, whatever its durability. */
export function losses(figures: FiguresOf): string {
  const rows = figures.workloads.flatMap((workload) => {
    const ours = figures.value(workload.id, "ours-sqlite");
    const better = figures.subjects
      .filter(({ role }) => role === "peer")
      .filter(({ name }) => isBetter(workload, figures.value(workload.id, name), ours))
      .map(({ title, name, syncsEachStep }) => {
        const value = formatFigure(figures.value(workload.id, name));
        return `${title}${syncsEachStep ? "" : " \\*"} (${value})`;
      });
    return better.length === 0 ? [] : [`- **${workload.id}** (${formatFigure(ours)}): ${better.join(", ")}`];
  });
  if (rows.length === 0) return "No peer was better than `durable` on SQLite in any of these rows.";
  return `Where a peer is better than \`durable\` on SQLite:\n\n${rows.join("\n")}`;
}

function isBetter({ better }: Workload, theirs: number, ours: number): boolean {
  return better === "more" ? theirs > ours : theirs < ours;
}
