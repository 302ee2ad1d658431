/**
 * Lists, searches and ticks of the dashboard on a storage with many genuine runs:
 *
 *     npm run soak:lists -- --storage sqlite
 *     npm run soak:lists -- --storage postgres --runs 100000
 *
 * --storage   as for soak:fleet
 * Prints statements, rows, bytes and milliseconds for a hundredth of the runs and for all of them, and how soon an open list shows a
 * change of the oldest runs. Fails when a list or a tick asks more than three statements more, when a change is not seen, or when
 * an open list shows it more than two seconds after the answer was sent.
 */
import { parseArgs } from "node:util";
import { Site } from "../packages/dashboard/test/support/ask.ts";
import {
  addRuns,
  answered,
  appOn,
  ask,
  Counter,
  idle,
} from "../packages/dashboard/test/support/many-runs.ts";
import { openStorage, placeOf } from "./fleet/storage.ts";

const { values } = parseArgs({
  options: { storage: { type: "string", default: "sqlite" }, runs: { type: "string", default: "100000" } },
});
const runs = Number(values.runs);
/** How soon an open list shows a change of any run. */
const liveMs = 2_000;
const place = await placeOf(values.storage);
try {
  const [storage, second] = [await openStorage(place.url), await openStorage(place.url)];
  const counter = new Counter();
  const [app, other] = [appOn(storage), appOn(second)];
  const site = new Site({ app });
  const some = Math.ceil(runs / 100);
  await addRuns(app, 0, some);
  const few = await ask(site, counter);
  const began = performance.now();
  await addRuns(app, some, runs, (line) => console.log(line));
  console.log(`${runs} runs, ${Math.round((runs - some) / ((performance.now() - began) / 1_000))} a second`);
  const many = await ask(site, counter);
  console.table(
    Object.fromEntries(
      Object.entries(many).map(([name, asked]) => {
        const before = few[name] ?? asked;
        const pair = (field: "statements" | "rows" | "bytes" | "ms"): string =>
          `${before[field]} → ${asked[field]}`;
        return [
          name,
          { statements: pair("statements"), rows: pair("rows"), bytes: pair("bytes"), ms: pair("ms") },
        ];
      }),
    ),
  );
  const waiting = Array.from({ length: 20 }, (_, i) => i * 10 + 7);
  const { ms, states } = await answered(site, other, waiting);
  const sorted = ms.toSorted((a, b) => a - b);
  const still = await idle(storage, counter, 10);
  const worse = Object.entries(many).filter(
    ([name, { statements }]) =>
      /^(list|tick)/.test(name) && !/waits/.test(name) && statements > (few[name]?.statements ?? 0) + 3,
  );
  const late = ms.filter((each) => each > liveMs).length;
  console.log(
    `soak:lists: ${runs} runs, ${still} statements a tick without a change, the 20 oldest waits shown after ${sorted[10]} ms (median), ${sorted.at(-1)} ms at most, ${late} later than ${liveMs} ms, ${worse.length} lists that grew`,
  );
  if (worse.length + late > 0 || states.some((state) => state !== "completed")) process.exitCode = 1;
  counter.restore();
  await Promise.all([app.close(), other.close()]);
  await Promise.all([storage.close(), second.close()]);
} finally {
  await place.close();
}
