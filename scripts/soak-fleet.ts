/**
 * A fleet of worker processes under attack:
 *
 *     npm run soak:fleet -- --storage sqlite
 *     npm run soak:fleet -- --storage postgres --runs 5000 --workers 4 --seconds 180
 *
 * --storage   `sqlite:<path>` or `postgres://...`; `sqlite` makes a file of its own, `postgres` (the default) starts a server
 * A worker is killed every second, and a server of its own is restarted every 10 seconds, every second time by a crash.
 * Fails when an acknowledged run is lost, a key is settled twice, or a value that a body saw has changed.
 */
import { parseArgs } from "node:util";
import { attackFleet } from "./fleet/chaos.ts";
import { placeOf } from "./fleet/storage.ts";

const { values } = parseArgs({
  options: {
    storage: { type: "string", default: "postgres" },
    runs: { type: "string", default: "5000" },
    workers: { type: "string", default: "4" },
    seconds: { type: "string", default: "180" },
    "step-ms": { type: "string", default: "5" },
    heal: { type: "string", default: "300" },
  },
});
const place = await placeOf(values.storage);
try {
  const report = await attackFleet(place, {
    workers: Number(values.workers),
    runs: Number(values.runs),
    attackMs: Number(values.seconds) * 1_000,
    killEveryMs: 1_000,
    restartEveryMs: 10_000,
    healMs: Number(values.heal) * 1_000,
    stepMs: Number(values["step-ms"]),
    progress: (line) => console.log(line),
  });
  const { lost, doubled, changed, ...figures } = report;
  for (const line of [...lost, ...doubled, ...changed].slice(0, 20)) console.log(`  ${line}`);
  console.log(figures);
  const bad = lost.length + doubled.length + changed.length;
  console.log(
    `soak:fleet: ${report.completed}/${report.runs} runs ended, ${report.kills} kills, ${report.restarts} restarts, ${lost.length} lost, ${doubled.length} doubled, ${changed.length} changed`,
  );
  if (bad > 0) process.exitCode = 1;
} finally {
  await place.close();
}
