/** Fills a small disk: `<folder on it>`. Prints what became of appends, reads, and appends once there is space again. */

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DurableError, durable } from "../../../../src/index.ts";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import { request } from "./samples.ts";

const folder = process.argv[2] ?? "";
const storage = new SqliteStorage(join(folder, "journal.db"));
await storage.append(request("one", 0));

/** Takes all the space there is, down to the last bytes. */
function fill(): void {
  for (let size = 1 << 20; size >= 512; size >>= 1) {
    for (let n = 0; ; n++) {
      try {
        writeFileSync(join(folder, `ballast-${size}-${n}`), Buffer.alloc(size), { flag: "wx" });
      } catch {
        break;
      }
    }
  }
}

const codes = new Set<string>();
const batch = "x".repeat(50_000);
fill();
for (let tries = 0; tries < 50 && codes.size === 0; tries++) {
  try {
    const { length } = await storage.read("one");
    await storage.append(request("one", length, batch));
  } catch (error) {
    codes.add(DurableError.is(error) ? error.code : String(error));
  }
}
console.log("append:", [...codes].join());
const { batches, length } = await storage.read("one");
console.log("read:", batches[0], batches.length === length);
console.log("list:", (await storage.list()).runs.length);

let calls = 0;
const flow = durable("full", async (ctx) => ctx.step("call", () => (calls += 1)), { storage });
const outcome = flow.run(undefined, { id: "kept" }).then(
  ({ status }) => status,
  (error: unknown) => (DurableError.is(error) ? error.code : String(error)),
);
setTimeout(() => {
  for (let size = 1 << 20; size >= 512; size >>= 1)
    for (let n = 0; n < 64; n++) rmSync(join(folder, `ballast-${size}-${n}`), { force: true });
}, 300);
console.log("workflow:", await outcome, calls);
await storage.append(request("one", length, batch));
console.log("append again:", (await storage.read("one")).length === length + 1);
await storage.close();
