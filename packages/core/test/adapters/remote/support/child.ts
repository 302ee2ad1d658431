/**
 * Drives a run whose journal is in a folder bucket: `<folder> [most]`. Says each body that runs, and the outcome. After `most`
 * bodies the next one never ends, so that a kill that comes late finds the process where it was.
 */

import { durable } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { FolderBucket } from "../../../../src/adapters/folder/index.ts";

const [folder = "", most = "Infinity"] = process.argv.slice(2);
let bodies = 0;
const storage = new RemoteStorage(new FolderBucket(folder));
const flow = durable(
  "killed",
  async (ctx) => {
    let sum = 0;
    for (let i = 0; i < 16; i++) {
      sum += await ctx.step(`s${i}`, async () => {
        console.log("body", `s${i}`);
        await new Promise((resolve) => (bodies++ < Number(most) ? setTimeout(resolve, 5) : null));
        return i;
      });
    }
    return sum;
  },
  { storage, lease: 200, secret: "a secret for tests, of no worth" },
);
const run = await flow.start(undefined, { id: "killed" });
console.log("outcome", JSON.stringify(await run.result({ wait: true })));
