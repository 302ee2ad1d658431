/**
 * RemoteStorage on real stores, for as long as it is told to:
 *
 *     npm run soak:remote -- --runs 500 --stores r2,s3 --seed 7
 *
 * runs      on each store: four drivers on each, with deaths, lost requests and lost replies
 * stores    memory, folder, r2 (the binding, in workerd) and s3 (R2 behind its S3 API, with signatures)
 * scale     instead of all else, the requests and times of a bucket that holds so many runs
 *
 * Then the same without conditions, which must be caught, and, with --conformance, the whole contract of a storage on
 * each store, with faults. Fails when a run ends otherwise than somebody saw it, or when the control passes.
 */
import { parseArgs } from "node:util";
import { careless, fuzzRun, type FuzzResult } from "../packages/core/test/adapters/remote/support/fuzz.ts";
import { scale } from "./lib/bucket-scale.ts";
import { stores } from "./lib/stores.ts";
import { run } from "./lib/workspace.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "500" },
    stores: { type: "string", default: "memory,folder,r2,s3" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    conformance: { type: "boolean", default: false },
    scale: { type: "string", default: "0" },
  },
});
const [runs = 0, seed = 0, many = 0] = [values.runs, values.seed, values.scale].map(Number);
const atOnce = 4;

const chosen = values.stores.split(",");
if (
  !Number.isInteger(runs) ||
  runs < 1 ||
  !Number.isInteger(seed) ||
  !Number.isInteger(many) ||
  chosen.some((name) => !(name in stores))
) {
  console.error(
    `soak:remote: --runs, --seed and --scale are whole numbers; --stores are of ${Object.keys(stores).join(",")}`,
  );
  process.exit(1);
}

/** Some at once, in order of their seeds. */
async function fuzz(count: number, one: (seed: number) => Promise<FuzzResult>): Promise<FuzzResult[]> {
  const results: FuzzResult[] = [];
  for (let from = 0; from < count; from += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, count - from) }, (_, n) => one(seed + from + n));
    for (const [n, result] of (await Promise.all(some)).entries()) {
      results.push(result);
      if (result.violations.length > 0 && count === runs)
        console.error(`seed ${seed + from + n}: ${result.violations.join("; ")}`);
    }
  }
  return results;
}

let failed = 0;
for (const name of chosen) {
  const store = await stores[name]?.();
  if (store === undefined) continue;
  if (many > 0) {
    if (!(await scale(name, store.open("scale/"), many))) failed += 1;
    await store.stop();
    continue;
  }
  const results = await fuzz(runs, (each) => fuzzRun(store.open(`run ${each}/`), { seed: each }));
  const sum = (pick: (result: FuzzResult) => number): number =>
    results.reduce((total, result) => total + pick(result), 0);
  const bad = results.filter(({ violations }) => violations.length > 0).length;
  console.log(
    `soak:remote: ${name}: ${bad} of ${runs} runs with violations; ${sum(({ deaths }) => deaths)} deaths, ` +
      `${sum(({ faults }) => faults)} faults, ${sum(({ bodies }) => bodies)} bodies (seed ${seed})`,
  );
  const control = await fuzz(atOnce, (each) =>
    fuzzRun(careless(store.open(`control ${each}/`)), {
      seed: each,
      patienceMs: 10_000,
    }),
  );
  const caught = control.filter(({ violations }) => violations.length > 0).length;
  console.log(`soak:remote: ${name} without conditions: ${caught} of ${atOnce} caught`);
  if (bad > 0 || caught === 0) failed += 1;
  await store.stop();
}
if (values.conformance) {
  process.env["DURABLE_SOAK"] = "1";
  const tests = [
    "core/test/adapters/folder/bucket",
    "core/test/adapters/remote/conformance",
    "cloudflare/test/r2",
    "s3/test/conformance",
  ];
  const files = tests.map((file) => `packages/${file}.test.ts`);
  if (!run("vitest", ["run", "--testTimeout=120000", ...files])) failed += 1;
}
// Drivers that died left requests behind that nobody will answer.
process.exit(failed === 0 ? 0 : 1);
