/**
 * How close a step on Postgres comes to the floor, which is one INSERT per commit with `pg`:
 *
 *     npm run bench:postgres -- --rounds 9 --steps 1000
 *
 * floor   inserts into a table like that of the batches, one after the other on one client
 * same    the very statement of an append, one after the other on the same client: what the server needs for it
 * storage appends of such batches to one run with `storage.append`, one after the other: a step without the engine
 * alone   sequential steps of one run
 * many    steps of 100 runs in flight, 40 in each run
 *
 * All five take turns on one server in one process, so that they meet the same disk and the same neighbours. The ratios
 * are medians over the rounds. The table shows the processor time of this process and of the server, where `/proc` has it.
 * Everything is on this machine; `--network 1` delays all five by a millisecond in each direction, as a server in the same
 * region would.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { durable } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";
import { thisProcess } from "@durable/core/storage";
import { PostgresStorage } from "@durable/postgres";
import { slowNetwork } from "./lib/slow-network.ts";
import { goesOn } from "../packages/postgres/src/sql/append.ts";
import { startPostgres } from "../packages/postgres/test/support/server.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    steps: { type: "string", default: "1000" },
    url: { type: "string" },
    network: { type: "string" },
  },
});
const [rounds = 0, steps = 0] = [values.rounds, values.steps].map(Number);
if (![rounds, steps].every((number) => Number.isInteger(number) && number > 0)) {
  console.error("bench:postgres: --rounds and --steps are whole numbers");
  process.exit(1);
}

const runsInFlight = 100;
const stepsOfEach = 40;
const server = values.url === undefined ? await startPostgres() : null;
const address = values.url ?? server?.url ?? "";
const network = values.network === undefined ? null : await slowNetwork(address, Number(values.network));
const url = network?.url ?? address;
const client = new Client({ connectionString: url });
await client.connect();
await client.query("CREATE SCHEMA IF NOT EXISTS durable_floor");
await client.query(
  'CREATE TABLE IF NOT EXISTS durable_floor.batches (run bigint NOT NULL, position int NOT NULL, body text COLLATE "C" NOT NULL, PRIMARY KEY (run, position))',
);
const storage = new PostgresStorage({ url, schema: "durable_bench" });
const flow = durable(
  "bench",
  async (ctx, count: number) => {
    for (let n = 0; n < count; n++) await ctx.step("step", () => n);
  },
  { storage, secret: "a secret for the benchmark" },
);

/** What a batch with one step looks like. */
async function sampleOf(): Promise<AppendRequest> {
  const { runId } = await flow.run(3);
  const head = (await storage.list()).runs.find((one) => one.runId === runId);
  if (head === undefined) throw new Error("The run is not listed.");
  const { batches } = await storage.read(head.locator);
  return { locator: head.locator, position: 2, batch: batches[2] ?? "", head };
}

/** Of one step. Times are in microseconds. */
interface Speed {
  readonly perSecond: number;
  /** Processor time of this process. */
  readonly here: number;
  /** Processor time of the server, with all its processes. */
  readonly there: number;
}

/** Microseconds of processor time that the server has used; `NaN` where the system does not say so. */
function usedByServer(): number {
  if (server === null) return Number.NaN;
  const [postmaster = ""] = readFileSync(join(server.folder, "postmaster.pid"), "utf8").split("\n");
  try {
    const own = readdirSync("/proc").filter(
      (pid) => /^\d+$/.test(pid) && (pid === postmaster || parentOf(pid) === postmaster),
    );
    return own.reduce((sum, pid) => sum + nanoseconds(pid) / 1_000, 0);
  } catch {
    return Number.NaN;
  }
}

/** The text after the name of the process, which may contain spaces. */
const parentOf = (pid: string): string | undefined =>
  readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1];
const nanoseconds = (pid: string): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]);

async function timed(count: number, work: () => Promise<unknown>): Promise<Speed> {
  const before = usedByServer();
  const [start, used] = [performance.now(), process.cpuUsage()];
  await work();
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(used);
  const there = (usedByServer() - before) / count;
  return { perSecond: count / seconds, here: (user + system) / count, there };
}

let inserted = 0;
const insert = "INSERT INTO durable_floor.batches (run, position, body) VALUES ($1, $2, $3)";

async function floor(body: string): Promise<void> {
  inserted += 1;
  for (let n = 0; n < steps; n++) await client.query(insert, [inserted, n, body]);
}

let made = 0;

const lease = { owner: "bench", ttlMs: 30_000 };

function headOf(sample: AppendRequest): AppendRequest["head"] {
  const locator = `b${String(++made).padStart(17, "0")}`;
  const more = { locator, runId: locator, workflow: "none", status: "running", wakeAt: 0 } as const;
  return { ...sample.head, ...more };
}

async function same({ batch, ...sample }: AppendRequest): Promise<void> {
  const head = headOf({ batch, ...sample });
  const { locator, createdAt, updatedAt, steps: done } = head;
  await storage.append({ locator, position: 0, batch, head, lease });
  const statement = { name: "same", text: goesOn("durable_bench", false) };
  for (let position = 1; position <= steps; position++) {
    const values = [locator, position, batch, createdAt, updatedAt, done, lease.owner, lease.ttlMs];
    await client.query({ ...statement, values: [...values, thisProcess] });
  }
  await storage.delete(locator);
}

async function appends(sample: AppendRequest): Promise<void> {
  const head = headOf(sample);
  const { locator } = head;
  for (let position = 0; position <= steps; position++)
    await storage.append({ locator, position, batch: sample.batch, head, lease });
  await storage.delete(locator);
}

async function many(): Promise<void> {
  await Promise.all(Array.from({ length: runsInFlight }, () => flow.run(stepsOfEach)));
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;
type Case = "floor" | "same" | "storage" | "alone" | "many";

try {
  const sample = await sampleOf();
  await flow.run(200);
  const count = stepsOfEach * runsInFlight;
  const cases: Record<Case, () => Promise<Speed>> = {
    floor: () => timed(steps, () => floor(sample.batch)),
    same: () => timed(steps, () => same(sample)),
    storage: () => timed(steps, () => appends(sample)),
    alone: () => timed(steps, () => flow.run(steps)),
    many: () => timed(count, many),
  };
  const names = Object.keys(cases) as Case[];
  const found: Record<Case, Speed>[] = [];
  const grouped = { statements: 0, steps: 0 };
  for (let round = 1; round <= rounds; round++) {
    const speeds: Partial<Record<Case, Speed>> = {};
    for (const name of names) {
      const before = storage.sent.appends;
      speeds[name] = await cases[name]();
      if (name === "many") {
        grouped.statements += storage.sent.appends - before;
        grouped.steps += count;
      }
    }
    found.push(speeds as Record<Case, Speed>);
    console.log(
      `round ${round}: ${names.map((name) => `${name} ${Math.round(speeds[name]?.perSecond ?? 0).toLocaleString("en")}/s`).join(", ")}`,
    );
  }
  const middle = (name: Case, of: (speed: Speed, floor: Speed) => number): number =>
    median(found.map((speeds) => of(speeds[name], speeds.floor)));
  const ratio = (name: Case): string => middle(name, (a, b) => a.perSecond / b.perSecond).toFixed(2);
  console.log(
    `\n${"".padEnd(8)}${["us/step", "here", "server", "of floor"].map((t) => t.padStart(10)).join("")}`,
  );
  for (const name of names) {
    const columns = [
      middle(name, ({ perSecond }) => 1e6 / perSecond).toFixed(0),
      middle(name, ({ here }) => here).toFixed(0),
      middle(name, ({ there }) => there).toFixed(0),
      ratio(name),
    ];
    console.log(`${name.padEnd(8)}${columns.map((text) => text.padStart(10)).join("")}`);
  }
  console.log(
    `\nbatches of a step: ${sample.batch.length} characters; steps per statement in flight: ${(grouped.steps / grouped.statements).toFixed(1)}`,
  );
  console.log(
    `bench:postgres: storage ${ratio("storage")} of the floor, alone ${ratio("alone")} of the floor (goal 0.80), ${runsInFlight} in flight ${ratio("many")} of the floor (goal 3.00)`,
  );
} finally {
  await storage.close();
  await client.end();
  await network?.close();
  await server?.stop();
}
