/** The chart: one row of bars per workload, each on a logarithmic scale of its own. Drawn by hand, without a library. */

import type { Subject } from "../catalog.ts";
import type { Workload } from "../workloads.ts";
import { FiguresOf } from "./figures.ts";
import { formatFigure } from "./format.ts";
import type { Report } from "./report.ts";

const colours = { ours: "#2563eb", floor: "#9ca3af", peer: "#f59e0b", unsynced: "#fcd9a0" } as const;
const [width, labelWidth, barHeight, gap] = [900, 210, 14, 4];
const barWidth = width - labelWidth - 110;

type Bar = { readonly title: string; readonly value: number; readonly colour: string };

function colourOf({ role, syncsEachStep }: Subject): string {
  if (role !== "peer") return colours[role];
  return syncsEachStep ? colours.peer : colours.unsynced;
}

const text = (x: number, y: number, content: string, more = ""): string =>
  `<text x="${x}" y="${y}"${more}>${content.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</text>`;

/** A picture that needs no script and no font but the reader's own. */
export function toSvg(report: Report): string {
  const figures = new FiguresOf(report);
  const parts: string[] = [];
  let y = 64;
  for (const workload of figures.workloads) {
    const bars = barsOf(figures, workload);
    if (bars.length === 0) continue;
    const arrow = workload.better === "more" ? "longer is better" : "shorter is better";
    parts.push(
      text(10, (y += 22), `${workload.id}: ${workload.title} (${workload.unit}, ${arrow})`, ' class="title"'),
    );
    y += 8;
    for (const bar of bars) {
      parts.push(drawn(bar, bars, y));
      y += barHeight + gap;
    }
    y += 10;
  }
  const head = [
    text(10, 24, `durable, floors and peers, ${report.date}`, ' class="head"'),
    text(
      10,
      44,
      `${report.machine.os} ${report.machine.arch}, ${report.machine.cores} cores, Node ${report.machine.node}; medians of ${report.rounds} interleaved rounds; logarithmic scales`,
    ),
    legend(64),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y + 10}" viewBox="0 0 ${width} ${y + 10}" role="img" aria-label="Benchmark of ${report.date}">`,
    "<style>text{font:12px system-ui,sans-serif;fill:#1f2937}.title{font-weight:600}.head{font-size:16px;font-weight:600}.value{fill:#4b5563}</style>",
    `<rect width="${width}" height="${y + 10}" fill="#fff"/>`,
    ...head,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

function legend(y: number): string {
  const names = [
    [colours.ours, "durable"],
    [colours.floor, "floor, no engine"],
    [colours.peer, "peer that syncs every step"],
    [colours.unsynced, "peer that does not"],
  ] as const;
  return names
    .map(([colour, name], i) => {
      const x = 10 + i * 200;
      return `<rect x="${x}" y="${y - 10}" width="12" height="12" fill="${colour}"/>${text(x + 18, y, name)}`;
    })
    .join("\n");
}

function barsOf(figures: FiguresOf, workload: Workload): Bar[] {
  return figures.subjects
    .filter(({ name }) => name !== "bare")
    .map((subject) => ({
      title: subject.title,
      value: figures.value(workload.id, subject.name),
      colour: colourOf(subject),
    }))
    .filter(({ value }) => Number.isFinite(value) && value > 0);
}

/** The shortest bar is a tenth of the longest decade, so that it can be seen. */
function drawn({ title, value, colour }: Bar, all: readonly Bar[], y: number): string {
  const values = all.map((bar) => bar.value);
  const [low, high] = [Math.log10(Math.min(...values)) - 0.3, Math.log10(Math.max(...values))];
  const length = Math.max(2, ((Math.log10(value) - low) / (high - low)) * barWidth);
  return [
    text(labelWidth - 8, y + 11, title, ' text-anchor="end"'),
    `<rect x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" fill="${colour}"/>`,
    text(labelWidth + length + 6, y + 11, formatFigure(value), ' class="value"'),
  ].join("");
}
