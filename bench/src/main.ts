/**
 * The benchmark. Rounds are interleaved: each round measures every subject once, in rotated order, so that a slow hour of
 * the machine slows all of them. A subject that fails is left out of the workload, and the report says why.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { leftOut, type Subject } from "./catalog.ts";
import { readOptions } from "./options.ts";
import { Places } from "./places.ts";
import { startChild } from "./processes.ts";
import { formatFigure, median } from "./report/format.ts";
import { machine, versionsOf, weightsOf } from "./report/machine.ts";
import type { Cell, Report } from "./report/report.ts";
import { writeReport } from "./report/write.ts";
import type { Bench, Workload } from "./workloads.ts";

const script = fileURLToPath(new URL("child.js", import.meta.url));
const bench = fileURLToPath(new URL("..", import.meta.url));
const options = readOptions(process.argv.slice(2));
const places = new Places();
const cells = new Map<string, Cell>();

function cellOf(workload: Workload, subject: Subject): Cell {
  const key = `${workload.id} ${subject.name}`;
  const cell = cells.get(key) ?? { workload: workload.id, subject: subject.name, rounds: [] };
  cells.set(key, cell);
  return cell;
}

async function measureOnce(workload: Workload, subject: Subject): Promise<Cell["rounds"][number]> {
  const place = await places.open(subject, workload.lasting && subject.inMemory !== true);
  const divisor = options.divide * (subject.slow ?? 1);
  const bareStart = async (): Promise<number> => {
    const task = { module: "bare", place: place.place, action: "first", steps: 1 } as const;
    const starts: number[] = [];
    for (let i = 0; i < 3; i++) {
      const { figures, startedAt } = await startChild(script, task);
      starts.push((figures["at"] ?? 0) - startedAt);
    }
    return median(starts);
  };
  const tools: Bench = {
    child: (task) => startChild(script, { ...task, module: subject.module, place: place.place }),
    bareStart,
    bytes: place.bytes,
    size: (many, least = 1) =>
      Math.max(Math.min(least, Math.ceil(least / options.divide)), Math.ceil(many / divisor)),
    mostSteps: subject.mostSteps ?? Infinity,
  };
  try {
    return subject.name === "bare" ? { value: await bareStart() } : await workload.run(tools);
  } finally {
    await place.remove();
  }
}

async function measureRound(workload: Workload, round: number, compared: readonly Subject[]): Promise<void> {
  const turn = round % compared.length;
  for (const subject of [...compared.slice(turn), ...compared.slice(0, turn)]) {
    const cell = cellOf(workload, subject);
    if (cell.skipped !== undefined) continue;
    try {
      const figures = await measureOnce(workload, subject);
      cell.rounds.push(figures);
      const said = `${formatFigure(figures.value)} ${workload.unit}`;
      console.log(`${workload.id} round ${round + 1}/${options.rounds}  ${subject.name.padEnd(22)} ${said}`);
    } catch (error) {
      cell.skipped = error instanceof Error ? error.message : String(error);
      console.log(
        `${workload.id} round ${round + 1}/${options.rounds}  ${subject.name.padEnd(22)} ${cell.skipped}`,
      );
    }
  }
}

try {
  for (const workload of options.workloads) {
    console.log(`\n${workload.id}: ${workload.title}`);
    for (const subject of options.subjects) {
      const reason = leftOut(subject, workload.id);
      if (reason !== undefined) cellOf(workload, subject).skipped = reason;
    }
    const compared = options.subjects.filter((subject) => cellOf(workload, subject).skipped === undefined);
    const rounds = workload.id === "G100k" ? 1 : options.rounds;
    for (let round = 0; round < rounds; round++) await measureRound(workload, round, compared);
  }
} finally {
  await places.close();
}

const report: Report = {
  date: new Date().toISOString().slice(0, 10),
  command: `npm run bench -- ${process.argv.slice(2).join(" ")}`.trimEnd().replace(/ --$/, ""),
  rounds: options.rounds,
  divide: options.divide,
  machine: machine(),
  versions: versionsOf(options.subjects),
  weights: weightsOf(options.subjects),
  cells: [...cells.values()],
};
const files = await writeReport(report, join(bench, "results", options.name));
console.log(`\nbench: ${files.map((file) => file.slice(bench.length)).join(", ")} in bench/`);
