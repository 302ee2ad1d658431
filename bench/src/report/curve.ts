/** The overhead curve as Markdown, JSON and a chart. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { formatFigure, median } from "./format.ts";
import type { Machine } from "./machine.ts";

/** One measurement of a run of so many steps. Times and bytes are per step, memory is of the whole process. */
export interface Point {
  readonly steps: number;
  readonly parallel: boolean;
  readonly freshUs: number;
  readonly replayUs: number;
  readonly bytes: number;
  /** Heap that the recorded run keeps while it waits, after a collection. */
  readonly heap: number;
  readonly peakRss: number;
  /** Heap that a replay has used when the next step begins, before a collection. */
  readonly replayHeap: number;
  readonly replayPeakRss: number;
}

export interface Curve {
  readonly date: string;
  readonly command: string;
  readonly subject: string;
  readonly durability: string;
  readonly rounds: number;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  /** All rounds. */
  readonly points: readonly Point[];
}

/** The medians of all rounds, by size and form. */
export function medians(points: readonly Point[]): Point[] {
  const groups = Map.groupBy(points, ({ steps, parallel }) => `${steps} ${parallel}`);
  return [...groups.values()].map((group) => {
    const [{ steps, parallel } = { steps: 0, parallel: false }] = group;
    const middle = (pick: (point: Point) => number): number => median(group.map(pick));
    return {
      steps,
      parallel,
      freshUs: middle((p) => p.freshUs),
      replayUs: middle((p) => p.replayUs),
      bytes: middle((p) => p.bytes),
      heap: middle((p) => p.heap),
      peakRss: middle((p) => p.peakRss),
      replayHeap: middle((p) => p.replayHeap),
      replayPeakRss: middle((p) => p.replayPeakRss),
    };
  });
}

const mb = (bytes: number): string => formatFigure(bytes / 2 ** 20);

export function curveTable(points: readonly Point[]): string {
  const rows = medians(points)
    .toSorted((a, b) => Number(a.parallel) - Number(b.parallel) || a.steps - b.steps)
    .map((p) => [
      p.steps.toLocaleString("en"),
      p.parallel ? "at once" : "one by one",
      formatFigure(p.freshUs),
      formatFigure(p.replayUs),
      formatFigure(p.bytes),
      mb(p.heap),
      mb(p.peakRss),
      mb(p.replayHeap),
      mb(p.replayPeakRss),
    ]);
  const head = [
    "Steps",
    "Form",
    "Recorded, µs a step",
    "Replayed, µs a step",
    "Bytes a step",
    "Heap while it waits, MB",
    "Peak memory, MB",
    "Heap at the end of a replay, MB",
    "Peak memory of a replay, MB",
  ];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function toMarkdown(curve: Curve): string {
  const { os, arch, cores, cpu, node, load } = curve.machine;
  const versions = Object.entries(curve.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `# Overhead by the length of a run, ${curve.date}`,
    `${curve.subject} (${curve.durability}). Medians of ${curve.rounds} ${curve.rounds === 1 ? "round" : "rounds"}, by \`${curve.command}\`.
Machine: ${os} ${arch}, ${cores} cores (${cpu}), Node ${node}, load ${load}. Versions: ${versions.join(", ")}.`,
    curveTable(curve.points),
    "The first steps include what a run costs once: its start, and code that is not compiled yet. A replay is measured in a\nfresh process from the opened storage to the body of the first new step.\n",
  ].join("\n\n");
}

const lines = [
  ["recorded, one by one", "#2563eb", false, (p: Point) => p.freshUs],
  ["recorded, at once", "#93c5fd", true, (p: Point) => p.freshUs],
  ["replayed, one by one", "#16a34a", false, (p: Point) => p.replayUs],
  ["replayed, at once", "#86efac", true, (p: Point) => p.replayUs],
] as const;

/** Microseconds per step against the number of steps, both on logarithmic scales. */
export function toSvg(curve: Curve): string {
  const points = medians(curve.points);
  const values = points.flatMap((p) => [p.freshUs, p.replayUs]);
  const [low, high] = [
    Math.floor(Math.log10(Math.min(...values))),
    Math.ceil(Math.log10(Math.max(...values))),
  ];
  const [left, top, width, height] = [80, 70, 560, 320];
  const most = Math.log10(Math.max(...points.map(({ steps }) => steps)));
  const x = (steps: number): number => left + ((Math.log10(steps) - 1) / Math.max(most - 1, 1)) * width;
  const y = (us: number): number => top + height - ((Math.log10(us) - low) / (high - low)) * height;
  const decades = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  const grid = decades.map(
    (us) =>
      `<line x1="${left}" x2="${left + width}" y1="${y(us)}" y2="${y(us)}" stroke="#e5e7eb"/><text x="${left - 8}" y="${y(us) + 4}" text-anchor="end">${us.toLocaleString("en")}</text>`,
  );
  const sizes = [...new Set(points.map(({ steps }) => steps))];
  const ticks = sizes.map(
    (steps) =>
      `<text x="${x(steps)}" y="${top + height + 20}" text-anchor="middle">${steps.toLocaleString("en")}</text>`,
  );
  const drawn = lines.map(([name, colour, parallel, pick], i) => {
    const own = points.filter((p) => p.parallel === parallel).toSorted((a, b) => a.steps - b.steps);
    const path = own.map((p) => `${x(p.steps).toFixed(1)},${y(pick(p)).toFixed(1)}`);
    const dots = path.map(
      (at) => `<circle cx="${at.split(",")[0]}" cy="${at.split(",")[1]}" r="3" fill="${colour}"/>`,
    );
    const legend = `<rect x="${left + width + 20}" y="${top + i * 22}" width="12" height="12" fill="${colour}"/><text x="${left + width + 38}" y="${top + 11 + i * 22}">${name}</text>`;
    return `<polyline points="${path.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join("")}${legend}`;
  });
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" width="840" height="450" viewBox="0 0 840 450" role="img" aria-label="Overhead curve">',
    "<style>text{font:12px system-ui,sans-serif;fill:#1f2937}.head{font-size:16px;font-weight:600}</style>",
    '<rect width="840" height="450" fill="#fff"/>',
    `<text x="10" y="24" class="head">Microseconds per step by the length of a run, ${curve.date}</text>`,
    `<text x="10" y="46">${curve.subject}, ${curve.machine.os} ${curve.machine.arch}, Node ${curve.machine.node}; logarithmic scales</text>`,
    ...grid,
    ...ticks,
    `<text x="${left + width / 2}" y="${top + height + 44}" text-anchor="middle">recorded steps</text>`,
    ...drawn,
    "</svg>",
    "",
  ].join("\n");
}

/** Writes `path`.md, .json and .svg, and returns their names. */
export function writeCurve(curve: Curve, path: string): string[] {
  mkdirSync(dirname(path), { recursive: true });
  const files: Record<string, string> = {
    [`${path}.md`]: toMarkdown(curve),
    [`${path}.json`]: `${JSON.stringify(curve, null, 2)}\n`,
    [`${path}.svg`]: toSvg(curve),
  };
  for (const [file, content] of Object.entries(files)) writeFileSync(file, content);
  return Object.keys(files);
}
