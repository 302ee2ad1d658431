/** The report as Markdown: one table of figures, ratios, goals, settings, and what was left out. */

import type { Subject } from "../catalog.ts";
import type { Workload } from "../workloads.ts";
import { FiguresOf } from "./figures.ts";
import { formatFigure } from "./format.ts";
import { goalsOf } from "./goals.ts";
import type { Report } from "./report.ts";

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");

/** The whole page. */
export function toMarkdown(report: Report): string {
  const figures = new FiguresOf(report);
  return [
    `# Benchmark of ${report.date}`,
    preamble(report),
    figureTable(figures),
    legend(figures),
    "## Ratios\n\nAbove 1 means that `durable` is better. The peer is the best one that syncs every step.",
    ratioTable(figures),
    ...goalSection(figures),
    "## Durability of each",
    table(
      ["Subject", "What is on disk when a step has returned"],
      figures.subjects.map(({ title, durability }) => [title, durability]),
    ),
    "## Install",
    table(
      ["Package", "Version", "Packages", "MB"],
      Object.entries(report.weights).map(([name, { packages, bytes }]) => [
        name,
        report.versions[name] ?? "",
        String(packages),
        formatFigure(bytes / 1e6),
      ]),
    ),
    "## Left out",
    table(["Subject", "Workloads", "Reason"], leftOutRows(figures)),
    "",
  ].join("\n\n");
}

function preamble({ machine, versions, rounds, command, divide }: Report): string {
  const { os, arch, cores, cpu, memoryGb, node, load } = machine;
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Medians of ${rounds} interleaved ${rounds === 1 ? "round" : "rounds"}, by \`${command}\`.`,
    divide === 1 ? "" : `**Sizes are divided by ${divide}: a trial, and not a measurement.**`,
    `Machine: ${os} ${arch}, ${cores} cores (${cpu}), ${memoryGb} GB, Node ${node}, load ${load}.`,
    `Versions: ${named.join(", ")}.`,
  ]
    .filter((line) => line !== "")
    .join("\n");
}

const headOf = ({ id, unit, better }: Workload): string => `${id} ${unit} ${better === "more" ? "↑" : "↓"}`;

/** Subjects by row, workloads by column. */
export function figureTable(
  figures: FiguresOf,
  isShown: (subject: Subject) => boolean = () => true,
  cell = cellText,
): string {
  const rows = figures.subjects
    .filter(isShown)
    .map((subject) => [
      subject.title + (subject.role === "peer" && !subject.syncsEachStep ? " *" : ""),
      ...figures.workloads.map((workload) => cell(figures, workload, subject)),
    ])
    .filter((cells) => cells.slice(1).some((cell) => cell !== "-"));
  return `${table(["", ...figures.workloads.map(headOf)], rows)}\n\n\\* does not sync every step`;
}

/** What each workload does. */
export function legend(figures: FiguresOf): string {
  return figures.workloads.map(({ id, title }) => `- **${id}** ${title}`).join("\n");
}

function cellText(figures: FiguresOf, { id }: Workload, { name }: Subject): string {
  const value = figures.value(id, name);
  if (!Number.isFinite(value)) return "-";
  const parts = { C: ["replayMs", "replay"], H: ["openMs", "open"] } as const;
  const [figure, what] = id === "C" || id === "H" ? parts[id] : ["first", "first"];
  const part = figures.value(id, name, figure);
  const steps = figures.value("C", name, "steps");
  return [
    formatFigure(value),
    Number.isFinite(part) ? ` (${what} ${formatFigure(part)})` : "",
    id === "C" && steps < 2_000 / figures.report.divide ? `, ${steps} steps` : "",
  ].join("");
}

/** Ours on SQLite and Postgres against their floors and the best synced peer. */
export function ratioTable(figures: FiguresOf): string {
  const rows = figures.workloads.map((workload) => {
    const peer = figures.bestPeer(workload);
    const ratio = (ours: string, other: number): string => {
      const mine = figures.value(workload.id, ours);
      return formatFigure(workload.better === "more" ? mine / other : other / mine);
    };
    return [
      headOf(workload),
      ratio("ours-sqlite", figures.value(workload.id, "floor-sqlite")),
      ratio("ours-postgres", figures.value(workload.id, "floor-postgres")),
      peer === undefined ? "-" : `${peer.subject.title}, ${formatFigure(peer.value)}`,
      ratio("ours-sqlite", peer?.value ?? Number.NaN),
      ratio("ours-postgres", peer?.value ?? Number.NaN),
    ];
  });
  return table(
    ["", "SQLite / floor", "Postgres / floor", "Best synced peer", "SQLite / peer", "Postgres / peer"],
    rows,
  );
}

function goalSection(figures: FiguresOf): string[] {
  const goals = goalsOf(figures);
  if (goals.length === 0) return [];
  const rows = goals.map(({ workload, goal, measured, met }) => [
    workload,
    goal,
    measured,
    met ? "yes" : "**no**",
  ]);
  return ["## Goals\n\nOn SQLite where nothing else is said.", table(["", "Goal", "Measured", "Met"], rows)];
}

/** One row per subject and reason. */
function leftOutRows(figures: FiguresOf): string[][] {
  return figures.subjects.flatMap((subject) => {
    const byReason = new Map<string, string[]>();
    for (const { id } of figures.workloads) {
      const reason = figures.skipped(id, subject.name);
      if (reason !== undefined) byReason.set(reason, [...(byReason.get(reason) ?? []), id]);
    }
    const all = figures.workloads.length;
    return [...byReason].map(([reason, ids]) => [
      subject.title,
      ids.length === all ? "all" : ids.join(", "),
      reason.replaceAll("|", "/"),
    ]);
  });
}
