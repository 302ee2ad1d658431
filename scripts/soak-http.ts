/**
 * Malformed requests over real sockets, for as long as it is told to:
 *
 *     npm run soak:http -- --requests 100000 --seed 7
 *
 * The server runs in a process of its own, with a run that waits. Fails on any answer of 5xx, on a connection that is
 * neither answered nor closed, when the server's memory grows by 64 MB, or when a proper answer right after is not taken.
 */
import { parseArgs } from "node:util";
import { fuzz } from "../packages/http/test/support/fuzz.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "100000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [requests = 0, seed = 0] = [values.requests, values.seed].map(Number);
if (!Number.isInteger(requests) || requests < 1 || !Number.isInteger(seed)) {
  console.error("soak:http: --requests and --seed are whole numbers");
  process.exit(1);
}

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;
const result = await fuzz({
  requests,
  seed,
  warmUp: Math.min(5_000, Math.ceil(requests / 2)),
  progress: (count, growth) => console.log(`${count}/${requests} refused, memory ${megabytes(growth)} more`),
});
const { malformed, harmless, answers, serverErrors, hanging, faults, memoryGrowth, goodAfter } = result;
console.log(
  `answers: ${Object.entries(answers)
    .map(([status, count]) => `${status} ${count}x`)
    .join(", ")}`,
);
console.log(
  `soak:http: ${malformed} malformed requests (and ${harmless} that were none): ${serverErrors} answers of 5xx, ${faults} faults, ` +
    `${hanging} left hanging, memory ${megabytes(memoryGrowth)} more, a good request after them ${goodAfter ? "answered" : "NOT ANSWERED"} (seed ${seed})`,
);
const ok = serverErrors + faults + hanging === 0 && goodAfter && memoryGrowth < 64 * 1024 * 1024;
if (!ok) console.error(`soak:http: FAILED with seed ${seed}`);
process.exitCode = ok ? 0 : 1;
