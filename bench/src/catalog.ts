/** All subjects, with what must be known to compare them. */

import type { WorkloadId } from "./workloads.ts";

export interface Subject {
  readonly name: string;
  readonly title: string;
  readonly role: "ours" | "floor" | "peer";
  /** The file under `subjects/`. */
  readonly module: string;
  /** The npm package whose version is reported, and whose weight is measured. */
  readonly package?: string;
  /** What has reached the disk when a step has returned. */
  readonly durability: string;
  /** True when a step that has returned survives a crash of the machine: only these are compared on A, B and E. */
  readonly syncsEachStep: boolean;
  readonly needs?: "postgres" | "restate";
  /** Its data ends with the handle on it. */
  readonly inMemory?: boolean;
  /** The floor of the same storage. */
  readonly floor?: string;
  /** Workloads that it does not do, and why. */
  readonly not?: Partial<Record<WorkloadId, string>>;
  /** Divides the sizes, where each step takes tens of milliseconds. */
  readonly slow?: number;
  /** The most steps in one run. */
  readonly mostSteps?: number;
  /** Why it is never run. */
  readonly skip?: string;
}

const noFork = "it has no fork";
const inMemory = "nothing outlives the process";
const sqlite = "SQLite, WAL, synchronous=FULL: one sync per commit";
const postgres = "Postgres, fsync=on, synchronous_commit=on";
const onlyCommits = "a floor of commits has no such operation";
const floorNot = {
  B: onlyCommits,
  B1000: onlyCommits,
  G: onlyCommits,
  G100k: onlyCommits,
  H: onlyCommits,
  I: onlyCommits,
};
const long = "measured for ours only";

const ours: readonly Subject[] = [
  {
    name: "ours-memory",
    title: "durable, memory",
    role: "ours",
    module: "ours-memory",
    package: "@durable/core",
    durability: "none: for tests",
    syncsEachStep: false,
    inMemory: true,
    not: { C: inMemory, F: inMemory, G100k: "memory storage keeps every journal in memory", H: inMemory },
  },
  {
    name: "ours-sqlite",
    title: "durable, SQLite",
    role: "ours",
    module: "ours-sqlite",
    package: "@durable/core",
    durability: sqlite,
    syncsEachStep: true,
    floor: "floor-sqlite",
  },
  {
    name: "ours-postgres",
    title: "durable, Postgres",
    role: "ours",
    module: "ours-postgres",
    package: "@durable/postgres",
    durability: postgres,
    syncsEachStep: true,
    needs: "postgres",
    floor: "floor-postgres",
    not: { G100k: "measured on SQLite only" },
  },
  {
    name: "ours-bucket",
    title: "durable, bucket at 30 ms",
    role: "ours",
    module: "ours-bucket",
    package: "@durable/core",
    durability: "one object per batch; each request takes a simulated 30 ms",
    syncsEachStep: true,
    floor: "floor-bucket",
    slow: 10,
    not: { G100k: "measured on SQLite only" },
  },
];

const floors: readonly Subject[] = [
  {
    name: "bare",
    title: "bare Node",
    role: "floor",
    module: "bare",
    durability: "no data",
    syncsEachStep: false,
  },
  {
    name: "floor-sqlite",
    title: "floor: SQLite commits",
    role: "floor",
    module: "floor-sqlite",
    durability: `${sqlite}; a journal row and a head row per commit`,
    syncsEachStep: true,
    not: floorNot,
  },
  {
    name: "floor-postgres",
    title: "floor: Postgres INSERTs",
    role: "floor",
    module: "floor-postgres",
    durability: `${postgres}; one INSERT per commit`,
    syncsEachStep: true,
    needs: "postgres",
    not: { ...floorNot, E: onlyCommits },
  },
  {
    name: "floor-bucket",
    title: "floor: one PUT at a time",
    role: "floor",
    module: "floor-bucket",
    durability: "one object per step; each request takes a simulated 30 ms",
    syncsEachStep: true,
    slow: 10,
    not: { ...floorNot, C: onlyCommits, D: onlyCommits, E: onlyCommits, F: onlyCommits },
  },
];

const peers: readonly Subject[] = [
  {
    name: "openworkflow-sqlite",
    title: "OpenWorkflow, SQLite",
    role: "peer",
    module: "openworkflow-sqlite",
    package: "openworkflow",
    durability: "SQLite, WAL, synchronous=FULL by default: two syncs per step",
    syncsEachStep: true,
    mostSteps: 990,
    not: { I: noFork },
  },
  {
    name: "openworkflow-postgres",
    title: "OpenWorkflow, Postgres",
    role: "peer",
    module: "openworkflow-postgres",
    package: "openworkflow",
    durability: postgres,
    syncsEachStep: true,
    needs: "postgres",
    mostSteps: 990,
    not: { I: noFork },
  },
  {
    name: "dbos",
    title: "DBOS, Postgres",
    role: "peer",
    module: "dbos",
    package: "@dbos-inc/dbos-sdk",
    durability: postgres,
    syncsEachStep: true,
    needs: "postgres",
  },
  {
    name: "restate",
    title: "Restate, its server",
    role: "peer",
    module: "restate",
    package: "@restatedev/restate-sdk",
    durability: "its own log, with its default settings",
    syncsEachStep: true,
    needs: "restate",
    not: { I: "its restart from a prefix is not driven from the SDK" },
  },
  {
    name: "langgraph",
    title: "LangGraph.js, Postgres",
    role: "peer",
    module: "langgraph",
    package: "@langchain/langgraph",
    durability: "Postgres; checkpoints are written behind the steps: a crash loses recent ones",
    syncsEachStep: false,
    needs: "postgres",
    not: { I: "its functional form has no fork by step" },
  },
  {
    name: "mastra",
    title: "Mastra, libsql",
    role: "peer",
    module: "mastra",
    package: "@mastra/core",
    durability:
      "libsql, WAL, synchronous=NORMAL: a crash of the machine loses recent steps; a snapshot of the whole run per step",
    syncsEachStep: false,
    not: { I: noFork },
  },
  {
    name: "effect",
    title: "Effect cluster, Postgres",
    role: "peer",
    module: "effect",
    package: "effect",
    durability: `${postgres}; three commits per step: call, delivery, result`,
    syncsEachStep: true,
    needs: "postgres",
    not: { I: noFork },
  },
  {
    name: "resonate",
    title: "Resonate, local memory",
    role: "peer",
    module: "resonate",
    package: "@resonatehq/sdk",
    durability: "none: the local mode keeps promises in memory",
    syncsEachStep: false,
    not: { C: inMemory, F: inMemory, H: inMemory, I: noFork },
  },
  {
    name: "absurd",
    title: "Absurd, Postgres",
    role: "peer",
    module: "absurd",
    package: "absurd-sdk",
    durability: postgres,
    syncsEachStep: true,
    needs: "postgres",
    skip: "its database schema is not published on npm: absurd-sdk 0.5.0 needs SQL that a separate command-line tool installs",
  },
];

/** In the order of tables. */
export const subjects: readonly Subject[] = [...ours, ...floors, ...peers];

/** Why a subject does not do a workload; `undefined` when it does. */
export function leftOut(subject: Subject, workload: WorkloadId): string | undefined {
  if (subject.skip !== undefined) return subject.skip;
  if (workload === "G100k" && subject.role === "peer") return long;
  if (subject.name === "bare") return workload === "H" ? undefined : "it has no engine";
  return subject.not?.[workload];
}
