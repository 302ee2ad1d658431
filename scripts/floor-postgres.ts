/**
 * How close a step on Postgres comes to the floor, which is one INSERT per commit with `pg`:
 *
 *     npm run bench:postgres -- --rounds 9 --steps 1000
 *
 * floor   inserts into a table like that of the batches, one after the other on one client
 * storage appends of such batches to one run with `storage.append`, one after the other: a step without the engine
 * alone   sequential steps of one run
 * many    steps of 100 runs in flight, 40 in each run
 *
 * All four take turns on one server in one process, so that they meet the same disk and the same neighbours. The ratios
 * are medians over the rounds. Everything is on this machine; `--network 1` delays all four by a millisecond in each
 * direction, as a server in the same region would.
 */
import { parseArgs } from "node:util";
import { Client } from "pg";
import { durable, type AppendRequest } from "@durable/core";
import { PostgresStorage } from "@durable/postgres";
import { slowNetwork } from "./lib/slow-network.ts";
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

/** Per second, and the share of the time in which this process was computing. */
interface Speed {
  readonly perSecond: number;
  readonly busy: number;
}

async function timed(count: number, work: () => Promise<unknown>): Promise<Speed> {
  const [start, used] = [performance.now(), process.cpuUsage()];
  await work();
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(used);
  return { perSecond: count / seconds, busy: (user + system) / 1e6 / seconds };
}

let inserted = 0;
const insert = "INSERT INTO durable_floor.batches (run, position, body) VALUES ($1, $2, $3)";

async function floor(body: string): Promise<void> {
  inserted += 1;
  for (let n = 0; n < steps; n++) await client.query(insert, [inserted, n, body]);
}

let made = 0;

async function appends(sample: AppendRequest): Promise<void> {
  const locator = `b${String(++made).padStart(17, "0")}`;
  const head = {
    ...sample.head,
    locator,
    runId: locator,
    workflow: "none",
    status: "running" as const,
    wakeAt: 0,
  };
  const lease = { owner: "bench", ttlMs: 30_000 };
  for (let position = 0; position <= steps; position++)
    await storage.append({ locator, position, batch: sample.batch, head, lease });
  await storage.delete(locator);
}

async function many(): Promise<void> {
  await Promise.all(Array.from({ length: runsInFlight }, () => flow.run(stepsOfEach)));
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;
const shown = ({ perSecond, busy }: Speed): string =>
  `${Math.round(perSecond).toLocaleString("en")}/s (${Math.round(busy * 100)}% of a core here)`;

try {
  const sample = await sampleOf();
  await flow.run(200);
  const found: { floor: Speed; storage: Speed; alone: Speed; many: Speed }[] = [];
  const groups = { before: 0, statements: 0, steps: 0 };
  for (let round = 1; round <= rounds; round++) {
    const atFloor = await timed(steps, () => floor(sample.batch));
    const direct = await timed(steps, () => appends(sample));
    const alone = await timed(steps, () => flow.run(steps));
    const count = stepsOfEach * runsInFlight;
    groups.before = storage.sent.appends;
    const inFlight = await timed(count, many);
    groups.statements += storage.sent.appends - groups.before;
    groups.steps += count;
    found.push({ floor: atFloor, storage: direct, alone, many: inFlight });
    console.log(
      `round ${round}: floor ${shown(atFloor)}, storage ${shown(direct)}, alone ${shown(alone)}, ${runsInFlight} in flight ${shown(inFlight)}`,
    );
  }
  const ratio = (of: "storage" | "alone" | "many"): number =>
    median(found.map((one) => one[of].perSecond / one.floor.perSecond));
  console.log(
    `batches of a step: ${sample.batch.length} characters; steps per statement in flight: ${(groups.steps / groups.statements).toFixed(1)}`,
  );
  console.log(
    `bench:postgres: storage ${ratio("storage").toFixed(2)} of the floor, alone ${ratio("alone").toFixed(2)} of the floor (goal 0.80), ${runsInFlight} in flight ${ratio("many").toFixed(2)} of the floor (goal 3.00)`,
  );
} finally {
  await storage.close();
  await client.end();
  await network?.close();
  await server?.stop();
}
