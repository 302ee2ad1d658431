/**
 * A fleet of worker processes under attack:
 *
 *     npm run soak:fleet -- --storage sqlite
 *     npm run soak:fleet -- --storage postgres --runs 5000 --workers 4 --seconds 180
 *
 * --storage   `sqlite:<path>` or `postgres://...`; `sqlite` makes a file of its own, `postgres` (the default) starts a server
 * A worker is killed every second, and a server of its own is restarted every 10 seconds, every second time by a crash.
 *
 *     npm run soak:fleet -- --faults all --runs 200 --seconds 24
 *
 * --faults    one after the other, each on a server and runs of its own, with a table at the end: kills, restarts, cuts,
 *             cut-all (every backend), pooler (in transaction mode, with kills), deploy (each worker stopped and replaced in turn),
 *             black-hole, zombie, full-disk (as root) and failover (asynchronous, 2.5 s of commits lost); or some of them
 *
 * Fails when an acknowledged run is lost, a key is settled twice, a value that a body saw has changed, or a bound of a fault is
 * broken: healed 10 s after cuts, 30 s without a body in a black hole, no body twice in a deploy.
 */
import { parseArgs } from "node:util";
import { attackFleet } from "./fleet/chaos.ts";
import { faults, sufferFault, type FaultReport } from "./fleet/faults.ts";
import { placeOf } from "./fleet/storage.ts";

const { values } = parseArgs({
  options: {
    storage: { type: "string", default: "postgres" },
    runs: { type: "string", default: "5000" },
    workers: { type: "string", default: "4" },
    seconds: { type: "string", default: "180" },
    "step-ms": { type: "string", default: "5" },
    heal: { type: "string", default: "300" },
    faults: { type: "string" },
  },
});

/** Commits that a failover lost are done again: only there a value may change. */
const isBad = ({ name, lost, doubled, changed, broken }: FaultReport): boolean =>
  lost.length + doubled.length + broken.length + (name === "failover" ? 0 : changed.length) > 0;

async function sufferAll(names: readonly string[]): Promise<void> {
  const rows: string[] = [];
  for (const name of names) {
    try {
      const report = await sufferFault(name, {
        runs: Number(values.runs),
        attackMs: Number(values.seconds) * 1_000,
        healMs: Number(values.heal) * 1_000,
        progress: (line) => console.log(line),
      });
      const { lost, doubled, changed, broken } = report;
      for (const line of [...broken, ...lost, ...doubled, ...changed].slice(0, 10)) console.log(`  ${line}`);
      if (isBad(report)) process.exitCode = 1;
      const seconds = [report.longestStallMs, report.healedMs].map((ms) => (ms / 1_000).toFixed(1));
      const counts = [lost.length, doubled.length, changed.length, report.again, report.regressed];
      rows.push(`| ${[name, report.did, report.runs, ...counts, ...seconds].join(" | ")} |`);
    } catch (error) {
      process.exitCode = 1;
      rows.push(`| ${name} | not tried: ${String(error).split("\n")[0]} | | | | | | | | |`);
    }
    console.log(rows.at(-1));
  }
  const head =
    "fault | what was done | runs | lost | doubled | changed | bodies again | regressed | longest time without a body, s | all ended after it, s";
  console.log(`\n| ${head} |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n${rows.join("\n")}`);
}

if (values.faults !== undefined) {
  await sufferAll(values.faults === "all" ? Object.keys(faults) : values.faults.split(","));
  process.exit();
}
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
