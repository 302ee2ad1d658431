/** A worker of one of two builds: `<past | present> <sqlite | folder> <path>`. Says each body that begins. */

import { writeSync } from "node:fs";
import { openPlace, presentBuild } from "./two-builds-place.ts";
import { loadFormat2 } from "./packed-build.ts";
import { tallyOf } from "./two-builds-flows.ts";

const [which = "", kind = "", path = ""] = process.argv.slice(2);
const build = which === "past" ? await loadFormat2() : presentBuild;
const tally = tallyOf(build.core, (runId, key) => void writeSync(1, `body ${runId} ${key}\n`));
const storage = openPlace(build, kind, path);
const app = build.core.createApp({
  storage,
  secret: "any secret, of no worth",
  lease: 500,
  workflows: [tally],
});
build.core.createWorker(app, { interval: 20, concurrency: 2 });
writeSync(1, "up\n");
