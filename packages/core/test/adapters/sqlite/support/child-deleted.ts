/** Takes one step after another in `<folder>`, which is deleted under it. Prints each step, then how it ended. */

import { join } from "node:path";
import { durable, DurableError } from "../../../../src/index.ts";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";

const storage = new SqliteStorage(join(process.argv[2] ?? "", "journal.db"));
const flow = durable(
  "long",
  async (ctx) => {
    for (let n = 1; n <= 1_000; n++) {
      await ctx.step("tick", () => new Promise((resolve) => setTimeout(resolve, 20)));
      console.log("recorded", n);
    }
  },
  { storage },
);

const codeOf = (error: unknown): string => (DurableError.is(error) ? error.code : String(error));
const outcome = await flow.run(undefined, { id: "r" });
console.log("ended", outcome.status, "error" in outcome ? codeOf(outcome.error) : "");
console.log("says", "error" in outcome ? (outcome.error as Error).message : "");
// The process keeps running: nothing is accepted or read any more.
console.log("new run", await flow.run(undefined, { id: "r2" }).then(({ status }) => status, codeOf));
console.log(
  "read",
  await flow
    .get("r")
    .outcome()
    .then(({ status }) => status, codeOf),
);
await storage.close();
// Timers that keep the process alive.
console.log("timers", process.getActiveResourcesInfo().filter((name) => name === "Timeout").length);
console.log("closed");
