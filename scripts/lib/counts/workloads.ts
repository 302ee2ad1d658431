/** Fixed workloads whose work is counted. Their sizes are part of the baseline: change both together. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { durable, MemoryStorage, type Storage, type Workflow } from "@durable/core";
import type { Hooks } from "@durable/core/hooks";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { systemWorld } from "@durable/core/storage";
import { SqliteStorage } from "@durable/core/sqlite";
import { countingBucket, countingStorage } from "@durable/testing";
import { metered, MeteredWorld, plantedStorage, storageCounts, type Counts, type Plant } from "./meters.ts";

const steps = 200;
const secret = "a secret for counted work only";

type Shape = { readonly steps: number; readonly parallel?: boolean; readonly wait?: boolean };

/** A workflow on a storage, with all its meters. */
interface Subject {
  readonly flow: Workflow<Shape, void>;
  readonly counters: readonly (() => Counts)[];
}

/** Hooks of every kind that do nothing. */
const idle: Hooks = {
  onRun: () => () => {},
  onStep: () => {},
  onAttempt: () => (work) => work(),
  onWait: () => {},
  onEnd: () => {},
  onBlocked: () => {},
};

function subjectOn(
  storage: Storage,
  plant: Plant | undefined,
  more: () => Counts = () => ({}),
  hooks?: Hooks,
): Subject {
  const counted = countingStorage(storage);
  const { world, counts } = new MeteredWorld(systemWorld, plant);
  const flow = durable(
    "counted",
    async (ctx, shape: Shape) => {
      if (shape.parallel === true) {
        await Promise.all(
          Array.from({ length: shape.steps }, (_, i) => ctx.step(`step-${i}`, async () => ({ i }))),
        );
      } else for (let i = 0; i < shape.steps; i++) await ctx.step("step", async () => ({ i }));
      if (shape.wait === true) await ctx.suspend("answer");
      await ctx.step("last", async () => "done");
    },
    { storage: plantedStorage(counted, plant), secret, world, hooks },
  );
  return { flow, counters: [() => storageCounts(counted), () => ({ ...counts }), more] };
}

async function tokenOf({ flow }: Subject, id: string, count = steps): Promise<string> {
  const outcome = await flow.run({ steps: count, wait: true }, { id });
  const token = outcome.status === "suspended" ? outcome.waiting[0]?.token : undefined;
  if (token === undefined) throw new Error(`Run ${id} is ${outcome.status}, and not suspended.`);
  return token;
}

type Counted = (plant: Plant | undefined) => Promise<Counts>;

/** Runs once before it is counted, so that what is done only once per process does not count. */
async function counted(subject: Subject, work: (id: string) => Promise<unknown>): Promise<Counts> {
  await subject.flow.run({ steps: 3 }, { id: "warm-up" });
  return metered(async () => void (await work("counted")), subject.counters);
}

const onMemory = (plant: Plant | undefined, hooks?: Hooks): Subject =>
  subjectOn(new MemoryStorage(), plant, undefined, hooks);

function onSqlite(plant: Plant | undefined): Subject {
  const folder = mkdtempSync(join(tmpdir(), "durable-counts-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const storage = new SqliteStorage(join(folder, "journal.db"));
  return subjectOn(storage, plant, () => ({ commits: storage.commits }));
}

function onBucket(plant: Plant | undefined): Subject {
  const bucket = countingBucket(new MemoryBucket());
  return subjectOn(new RemoteStorage(bucket), plant, () => {
    const { gets, puts, lists, deletes } = bucket.counts;
    return { bucketGets: gets, bucketPuts: puts, bucketLists: lists, bucketDeletes: deletes };
  });
}

/** Allocations are counted in pages, so small differences show only in long runs. */
const manySteps = 2_000;

function many(plant: Plant | undefined, hooks?: Hooks): Promise<Counts> {
  const subject = onMemory(plant, hooks);
  return counted(subject, (id) => subject.flow.run({ steps: manySteps }, { id }));
}

async function resumed(plant: Plant | undefined, hooks?: Hooks): Promise<Counts> {
  const subject = onMemory(plant, hooks);
  const token = await tokenOf(subject, "waiting", manySteps);
  return counted(subject, () => subject.flow.resume(token, true));
}

export const countedWork: Readonly<Record<string, Counted>> = {
  "200 steps": (plant) => {
    const subject = onMemory(plant);
    return counted(subject, (id) => subject.flow.run({ steps }, { id }));
  },
  "200 parallel steps": (plant) => {
    const subject = onMemory(plant);
    return counted(subject, (id) => subject.flow.run({ steps, parallel: true }, { id }));
  },
  "resume after 200 steps": async (plant) => {
    const subject = onMemory(plant);
    const token = await tokenOf(subject, "waiting");
    return counted(subject, () => subject.flow.resume(token, true));
  },
  "fork after 200 steps": async (plant) => {
    const subject = onMemory(plant);
    await subject.flow.run({ steps }, { id: "parent" });
    return counted(subject, async () => (await subject.flow.fork("parent", { from: "last" })).result());
  },
  "2,000 steps": (plant) => many(plant),
  "2,000 steps, hooks": (plant) => many(plant, idle),
  "resume after 2,000 steps": (plant) => resumed(plant),
  "resume after 2,000 steps, hooks": (plant) => resumed(plant, idle),
  "50 runs of 5 steps at once, SQLite": (plant) => {
    const subject = onSqlite(plant);
    return counted(subject, (id) =>
      Promise.all(Array.from({ length: 50 }, (_, i) => subject.flow.run({ steps: 5 }, { id: `${id}-${i}` }))),
    );
  },
  "200 steps, SQLite": (plant) => {
    const subject = onSqlite(plant);
    return counted(subject, (id) => subject.flow.run({ steps }, { id }));
  },
  "200 steps, bucket": (plant) => {
    const subject = onBucket(plant);
    return counted(subject, (id) => subject.flow.run({ steps }, { id }));
  },
  "resume after 200 steps, bucket": async (plant) => {
    const subject = onBucket(plant);
    const token = await tokenOf(subject, "waiting");
    return counted(subject, () => subject.flow.resume(token, true));
  },
};
