/**
 * The overhead curve: time, bytes and memory per step as a run grows, on SQLite with a sync per commit. Each point is two
 * processes: one records the steps and suspends, a fresh one resumes the run, which replays them.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { subjects, type Subject } from "./catalog.ts";
import { Places } from "./places.ts";
import { startChild } from "./processes.ts";
import { formatFigure } from "./report/format.ts";
import { type Point, writeCurve } from "./report/curve.ts";
import { machine, versionsOf } from "./report/machine.ts";

const script = fileURLToPath(new URL("child.js", import.meta.url));
const bench = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
  options: {
    subject: { type: "string", default: "ours-sqlite" },
    most: { type: "string", default: "50000" },
    rounds: { type: "string", default: "3" },
    name: { type: "string" },
  },
});
const sizes = [10, 100, 1_000, 10_000, 50_000].filter((steps) => steps <= Number(values.most));
const subject = subjects.find(({ name }) => name === values.subject);
if (subject === undefined) throw new Error(`There is no subject "${values.subject}".`);
const places = new Places();

const timeoutMs = 900_000;

/** Bytes per step, from as many runs as have 2,000 steps together: files grow by pages. */
async function bytesOf(subject: Subject, steps: number, parallel: boolean): Promise<number> {
  const place = await places.open(subject, true);
  const runs = Math.max(1, Math.round(2_000 / steps));
  const task = { module: subject.module, place: place.place, action: "parked", parallel } as const;
  try {
    await startChild(script, { ...task, steps: 1, runs: 1 }, timeoutMs);
    const before = await place.bytes();
    await startChild(script, { ...task, prefix: "more-", steps, runs }, timeoutMs);
    return ((await place.bytes()) - before) / (steps * runs);
  } finally {
    await place.remove();
  }
}

async function measure(subject: Subject, steps: number, parallel: boolean): Promise<Point> {
  const place = await places.open(subject, true);
  const task = { module: subject.module, place: place.place, steps, parallel };
  try {
    const recorded = await startChild(script, { ...task, action: "record" }, timeoutMs);
    const { token = "" } = recorded;
    const resumed = await startChild(script, { ...task, action: "resume", token }, timeoutMs);
    return {
      steps,
      parallel,
      freshUs: ((recorded.figures["ms"] ?? 0) * 1_000) / steps,
      replayUs: ((resumed.figures["replayMs"] ?? 0) * 1_000) / steps,
      bytes: await bytesOf(subject, steps, parallel),
      heap: recorded.figures["heap"] ?? 0,
      peakRss: recorded.figures["peakRss"] ?? 0,
      replayHeap: resumed.figures["heap"] ?? 0,
      replayPeakRss: resumed.figures["peakRss"] ?? 0,
    };
  } finally {
    await place.remove();
  }
}

const points: Point[] = [];
const rounds = Number(values.rounds);
try {
  for (let round = 0; round < rounds; round++) {
    for (const steps of sizes) {
      for (const parallel of [false, true]) {
        const point = await measure(subject, steps, parallel);
        points.push(point);
        const { freshUs, replayUs, bytes } = point;
        const shown = [freshUs, replayUs, bytes].map(formatFigure);
        const how = parallel ? "at once" : "one by one";
        console.log(
          `curve round ${round + 1}/${rounds}  ${String(steps).padStart(6)} steps ${how.padEnd(10)} fresh ${shown[0]} us, replayed ${shown[1]} us, ${shown[2]} bytes a step`,
        );
      }
    }
  }
} finally {
  await places.close();
}
const files = writeCurve(
  {
    date: new Date().toISOString().slice(0, 10),
    command: `npm run bench:curve -- ${process.argv.slice(2).join(" ")}`.replace(/ -- $/, ""),
    subject: subject.title,
    durability: subject.durability,
    rounds,
    machine: machine(),
    versions: versionsOf([subject]),
    points,
  },
  join(bench, "results", values.name ?? `${new Date().toISOString().slice(0, 10)}-curve`),
);
console.log(`\ncurve: ${files.map((file) => file.slice(bench.length)).join(", ")} in bench/`);
