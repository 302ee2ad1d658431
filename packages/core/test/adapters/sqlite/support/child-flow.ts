/** Drives the run that can be taken over: `<path> <go file> <name> <place> <run | result> <lease> <ms of sleep>`. */

import type { Duration } from "@durable/core";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import { takenRun, takeoverFlow, type Place } from "./flow.ts";

const [path = "", go = "", name = "", place = "nowhere", how = "run", ...rest] = process.argv.slice(2);
const [lease = "30s", sleepMs = "1"] = rest;
const storage = new SqliteStorage(path);
const flow = takeoverFlow(name, place as Place, { storage, lease: lease as Duration, go });
if (how === "result") {
  const output = await flow.get(takenRun).result();
  console.log("outcome", JSON.stringify({ status: "completed", output }));
} else {
  const outcome = await flow.run(Number(sleepMs), { id: takenRun });
  console.log("outcome", JSON.stringify(outcome));
}
await storage.close();
