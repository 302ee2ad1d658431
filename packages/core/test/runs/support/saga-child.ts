/** Drives a booking, and kills itself at one append: `<journal> <ledger> <ends> <append> <before|after>`. */

import { SqliteStorage } from "@durable/core/sqlite";
import { saga, type Ends } from "./saga-flow.ts";

const [path = "", file = "", ends = "", at = "", moment = ""] = process.argv.slice(2);
const storage = new SqliteStorage(path);
const append = storage.append.bind(storage);
let appends = 0;
const die = (): void => process.kill(process.pid, "SIGKILL") as never;
storage.append = async (request) => {
  const last = ++appends === Number(at);
  if (last && moment === "before") die();
  await append(request);
  if (last) die();
};
const flow = saga(file, ends as Ends).with({ storage });
await flow.run(undefined, { id: "r" });
if (ends === "waits") {
  await flow.cancel("r", { reason: "changed plans" });
  await flow
    .get("r")
    .result()
    .catch(() => {});
}
await storage.close();
