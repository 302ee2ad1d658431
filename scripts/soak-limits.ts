/**
 * A limit that holds across processes, under attack:
 *
 *     npm run soak:limits -- --runs 2000
 *     npm run soak:limits -- --runs 2000 --postgres
 *
 * Four worker processes drive runs of some keys, at most seven of a key at the same time. A worker is killed every second.
 * Fails when more bodies of a key ran at the same time, when fewer ran for longer than a lease while runs waited, or when a
 * run was lost. The bodies themselves note when they begin and end.
 *
 * A slot passes from one run to the next in about 25 ms, and in more on a busy machine. Bodies of 100 ms are therefore
 * seldom all there at once, and then the time with too few says little: use longer ones.
 */
import { parseArgs } from "node:util";
import { limitFleet } from "./fleet/limited.ts";
import { placeOf } from "./fleet/storage.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "2000" },
    workers: { type: "string", default: "4" },
    limit: { type: "string", default: "7" },
    keys: { type: "string", default: "2" },
    kills: { type: "string", default: "30" },
    "lease-ms": { type: "string", default: "3000" },
    "step-ms": { type: "string", default: "400" },
    postgres: { type: "boolean", default: false },
  },
});
const place = await placeOf(values.postgres ? "postgres" : "sqlite");
const [limit, leaseMs] = [Number(values.limit), Number(values["lease-ms"])];
try {
  const report = await limitFleet(place, {
    runs: Number(values.runs),
    workers: Number(values.workers),
    limit,
    keys: Number(values.keys),
    leaseMs,
    stepMs: Number(values["step-ms"]),
    killEveryMs: 1_000,
    kills: Number(values.kills),
    progress: (line) => console.log(line),
  });
  console.log(report);
  const { runs, completed, kills, most, longestShortMs } = report;
  console.log(
    `soak:limits: ${completed}/${runs} runs ended, ${kills} kills, at most ${most} of ${limit} bodies at once, too few for at most ${longestShortMs} of ${leaseMs} ms`,
  );
  if (completed < runs || most > limit || longestShortMs > leaseMs) process.exitCode = 1;
} finally {
  await place.close();
}
