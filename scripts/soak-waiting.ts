/**
 * Many runs wait, a worker is restarted, and some of the runs are woken:
 *
 *     npm run soak:waiting -- --storage sqlite
 *     npm run soak:waiting -- --storage postgres --runs 100000 --burst 10000
 *
 * --storage   as for soak:fleet
 * Fails when a run is missing, or the heap of the worker grows by 50 MB or more.
 */
import { parseArgs } from "node:util";
import { placeOf } from "./fleet/storage.ts";
import { wakeSome } from "./fleet/waiting.ts";

const { values } = parseArgs({
  options: {
    storage: { type: "string", default: "postgres" },
    runs: { type: "string", default: "100000" },
    burst: { type: "string", default: "10000" },
    single: { type: "string", default: "200" },
  },
});
const place = await placeOf(values.storage);
try {
  const [runs, burst, single] = [Number(values.runs), Number(values.burst), Number(values.single)];
  const report = await wakeSome(place, { runs, burst, single, progress: (line) => console.log(line) });
  console.log(report);
  const grown = (report.heap.after - report.heap.before) / 1024;
  const missing = runs - report.woken - report.stillWaiting;
  console.log(
    `soak:waiting: ${report.woken} of ${runs} runs woken, ${missing} missing, heap grew by ${grown.toFixed(1)} MB, p99 ${report.single.p99} ms alone, ${report.burst.p99} ms in a burst of ${burst}`,
  );
  if (missing !== 0 || report.woken !== burst + single || grown >= 50) process.exitCode = 1;
} finally {
  await place.close();
}
