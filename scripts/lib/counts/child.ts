/** Prints the counts of all workloads as JSON, or of some with extra work. JSON is wrapped before the engine loads. */

import { meterJson, type Counts, type Plant } from "./meters.ts";

const [plant, ...only] = process.argv.slice(2) as [Plant?, ...string[]];
meterJson();
const { countedWork } = await import("./workloads.ts");

const all: Record<string, Counts> = {};
for (const [name, work] of Object.entries(countedWork)) {
  if (only.length > 0 && !only.includes(name)) continue;
  // The least of three: a timer or a collection of garbage that comes between adds to what is allocated.
  const [first, ...more] = [await work(plant), await work(plant), await work(plant)];
  all[name] = Object.fromEntries(
    Object.entries(first).map(([key, count]) => [
      key,
      Math.min(count, ...more.map((each) => each[key] ?? 0)),
    ]),
  );
}
console.log(JSON.stringify(all));
