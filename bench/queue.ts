/**
 * Work that another process starts, on one Postgres: durable beside queues and other engines, in one interleaved run.
 *
 *     npm run bench:queue -- --rounds 5 --only durable,graphile
 *
 * - latency   one run of one step on an idle queue, from its start to its recorded end, one after the other: p50
 * - crowd     runs of five steps (one job without steps for the queues), started together: runs/s
 *
 * Each round measures every subject once, in rotated order; figures are medians of the rounds, and only ratios mean something.
 * The ends are those that each system reports: a worker's hook for durable, `job:complete` for graphile-worker, the return of the
 * function for the others, which record the end afterwards. pg-boss polls twice a second; DBOS drives a run where it was started.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createApp, createWorker, durable } from "@durable/core";
import { PostgresStorage } from "@durable/postgres";
import { Client } from "pg";
import { startPostgres } from "../packages/postgres/test/support/server.ts";
import { load, Signals, type Marks, type Place } from "./src/engine.ts";
import { open as openDbos } from "./src/subjects/dbos.ts";
import { open as openOpenworkflow } from "./src/subjects/openworkflow-postgres.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    latency: { type: "string", default: "30" },
    crowd: { type: "string", default: "200" },
    only: { type: "string", default: "durable,graphile,pg-boss,openworkflow,dbos" },
  },
});
const [rounds, latency, crowd] = [Number(values.rounds), Number(values.latency), Number(values.crowd)];

/** One system with a worker that has places for 50 runs. */
interface Queue {
  /** Until the run has ended. */
  run(id: string, steps: number): Promise<void>;
  close(): Promise<void>;
}

async function durableQueue(url: string): Promise<Queue> {
  const flow = durable("bench", async (ctx, steps: number) => {
    for (let n = 0; n < steps; n++) await ctx.step(`step ${n}`, async () => n);
  });
  // The client has a storage of its own, as another process would.
  const [storage, far] = [new PostgresStorage({ url }), new PostgresStorage({ url })];
  const [app, client] = [storage, far].map((one) =>
    createApp({ storage: one, workflows: [flow], bind: false }),
  );
  if (app === undefined || client === undefined) throw new Error("There are two apps.");
  const ended = new Signals();
  const worker = createWorker(app, { concurrency: 50, onStop: ({ runId }) => ended.fire(runId) });
  return {
    run: async (id, steps) => {
      const end = ended.wait(id);
      await client.start(flow, steps, { id, drive: false });
      await end;
    },
    close: async () => {
      await worker.stop();
      await Promise.all([storage.close(), far.close()]);
    },
  };
}

interface Graphile {
  run(options: object): Promise<{
    readonly events: { on(name: string, hear: (event: { job: { payload: { id: string } } }) => void): void };
    addJob(name: string, payload: object): Promise<unknown>;
    stop(): Promise<void>;
  }>;
  makeWorkerUtils(options: object): Promise<{
    addJob(name: string, payload: object): Promise<unknown>;
    release(): Promise<void>;
  }>;
  Logger: new (make: () => () => void) => unknown;
}

async function graphileQueue(connectionString: string): Promise<Queue> {
  const graphile = await load<Graphile>("graphile-worker");
  const logger = new graphile.Logger(() => () => {});
  const runner = await graphile.run({
    connectionString,
    concurrency: 50,
    noHandleSignals: true,
    logger,
    taskList: { bench: async () => {} },
  });
  const utils = await graphile.makeWorkerUtils({ connectionString, logger });
  const ended = new Signals();
  runner.events.on("job:complete", ({ job }) => ended.fire(job.payload.id));
  return {
    run: async (id) => {
      const end = ended.wait(id);
      await utils.addJob("bench", { id });
      await end;
    },
    close: async () => {
      await utils.release();
      await runner.stop();
    },
  };
}

interface Boss {
  on(name: "error", hear: () => void): void;
  start(): Promise<unknown>;
  createQueue(name: string): Promise<void>;
  work(
    name: string,
    options: { batchSize: number; pollingIntervalSeconds: number },
    work: (jobs: readonly { data: { id: string } }[]) => Promise<void>,
  ): Promise<unknown>;
  send(name: string, data: object): Promise<unknown>;
  stop(options: { graceful: boolean }): Promise<void>;
}

async function bossQueue(url: string): Promise<Queue> {
  const { PgBoss } = await load<{ PgBoss: new (url: string) => Boss }>("pg-boss");
  const boss = new PgBoss(url);
  boss.on("error", () => {});
  await boss.start();
  await boss.createQueue("bench");
  const ended = new Signals();
  await boss.work("bench", { batchSize: 50, pollingIntervalSeconds: 0.5 }, async (jobs) => {
    for (const { data } of jobs) ended.fire(data.id);
  });
  return {
    run: async (id) => {
      const end = ended.wait(id);
      await boss.send("bench", { id });
      await end;
    },
    close: () => boss.stop({ graceful: false }),
  };
}

const marks: Marks = { begin: () => {}, end: () => {}, body: () => {} };

async function peerQueue(open: typeof openDbos, postgres: string): Promise<Queue> {
  const folder = mkdtempSync(join(tmpdir(), "durable-queue-"));
  const place: Place = { folder, postgres, port: 0, server: [], lasting: false, bucketMs: 0 };
  const engine = await open(place, marks);
  return {
    run: (id, steps) => engine.run({ id, steps }),
    close: async () => {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const subjects: Readonly<Record<string, (url: string) => Promise<Queue>>> = {
  durable: durableQueue,
  graphile: graphileQueue,
  "pg-boss": bossQueue,
  openworkflow: (url) => peerQueue(openOpenworkflow, url),
  dbos: (url) => peerQueue(openDbos, url),
};

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

const server = await startPostgres();
const queues = new Map<string, Queue>();
const figures = new Map<string, { readonly ms: number[]; readonly perSecond: number[] }>();
try {
  const admin = new Client({ connectionString: server.url });
  await admin.connect();
  for (const name of values.only.split(",")) {
    const open = subjects[name];
    if (open === undefined) throw new Error(`There is no subject ${name}.`);
    const database = `bench_${name.replace("-", "_")}`;
    await admin.query(`CREATE DATABASE ${database}`);
    const url = new URL(server.url);
    url.pathname = `/${database}`;
    queues.set(name, await open(url.href));
    figures.set(name, { ms: [], perSecond: [] });
  }
  await admin.end();
  let runs = 0;
  // The first round warms up.
  for (let round = -1; round < rounds; round++) {
    const names = [...queues.keys()];
    const turn = (round + names.length) % names.length;
    for (const name of [...names.slice(turn), ...names.slice(0, turn)]) {
      const queue = queues.get(name) as Queue;
      const took: number[] = [];
      for (let n = 0; n < (name === "pg-boss" ? Math.min(latency, 5) : latency); n++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        const from = performance.now();
        await queue.run(`run-${++runs}`, 1);
        took.push(performance.now() - from);
      }
      const from = performance.now();
      await Promise.all(Array.from({ length: crowd }, () => queue.run(`run-${++runs}`, 5)));
      const perSecond = (crowd * 1_000) / (performance.now() - from);
      if (round < 0) continue;
      figures.get(name)?.ms.push(median(took));
      figures.get(name)?.perSecond.push(perSecond);
    }
    console.log(`round ${round + 1} of ${rounds}`);
  }
  const [first] = figures.values();
  console.log("\n| | latency p50, ms | ratio | runs/s in a crowd | ratio |\n|---|--:|--:|--:|--:|");
  for (const [name, { ms, perSecond }] of figures) {
    const [time, rate] = [median(ms), median(perSecond)];
    const ratios = [time / median(first?.ms ?? []), rate / median(first?.perSecond ?? [])];
    const [slower, faster] = ratios.map((ratio) => ratio.toFixed(2));
    console.log(`| ${name} | ${time.toFixed(1)} | ${slower} | ${rate.toFixed(0)} | ${faster} |`);
  }
} finally {
  await Promise.all([...queues.values()].map((queue) => queue.close().catch(() => {})));
  await server.stop();
}
process.exit();
