/** The command line. */

import { parseArgs } from "node:util";
import { subjects, type Subject } from "./catalog.ts";
import { workloads, type Workload } from "./workloads.ts";

export interface Options {
  readonly workloads: readonly Workload[];
  readonly subjects: readonly Subject[];
  readonly rounds: number;
  /** Divides all sizes. */
  readonly divide: number;
  /** The name of the results; the date by default. */
  readonly name: string;
}

const usage = `npm run bench -- [options]
  --only A,C           workloads: ${workloads.map(({ id }) => id).join(", ")}; all but G100k by default
  --subjects ours,dbos parts of names: ${subjects.map(({ name }) => name).join(", ")}; all by default
  --rounds 5           how often each subject is measured
  --quick              a tenth of the sizes, one round: to see whether everything runs
  --name first         the name of the files in bench/results; the date by default`;

/** Reads the arguments; prints how to call it and ends the process where they are wrong. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      subjects: { type: "string" },
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      name: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const wanted = values.only?.split(",");
  const named = values.subjects?.split(",");
  const unknown = wanted?.find((id) => !workloads.some((workload) => workload.id === id));
  const chosen = workloads.filter(({ id }) => wanted?.includes(id) ?? id !== "G100k");
  const compared = subjects.filter(({ name }) => named?.some((part) => name.includes(part)) ?? true);
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 5));
  if (
    values.help ||
    unknown !== undefined ||
    compared.length === 0 ||
    !Number.isInteger(rounds) ||
    rounds < 1
  ) {
    console.log(unknown === undefined ? usage : `Unknown workload "${unknown}".\n${usage}`);
    process.exit(values.help ? 0 : 1);
  }
  return {
    workloads: chosen,
    subjects: compared,
    rounds,
    divide: values.quick ? 10 : 1,
    name: values.name ?? new Date().toISOString().slice(0, 10),
  };
}
