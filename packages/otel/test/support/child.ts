/** One process that drives a run: `child.ts <file> <receiver> start|advance|resume <run id> [token]`. */

import { trip, tracedApp } from "./flow.ts";

const [path = "", url = "", what = "", runId = "", token = ""] = process.argv.slice(2);
const { app, flush } = tracedApp(path, url);

switch (what) {
  case "start":
    await (await app.start(trip.name, "Rome", { id: runId })).result();
    break;
  case "advance": {
    const outcome = await app.advance(runId);
    console.log(outcome.status === "suspended" ? outcome.waiting[0]?.token : outcome.status);
    break;
  }
  default: {
    const { outcome } = await app.resume(token, "yes");
    const fork = { after: "approve", edit: { approve: "no" }, id: `${runId}-fork` };
    await (await app.get(runId).fork(fork)).result();
    console.log(outcome?.status);
  }
}
await flush();
