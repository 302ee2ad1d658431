/** The command: arguments and exit codes. See demo.ts for what it runs. */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isForUsers, terminal } from "example-llm";
import { demo } from "./demo.ts";

// Next to the example, whatever the current folder is.
process.env["DURABLE_DIR"] ||= fileURLToPath(new URL("../.durable", import.meta.url));

try {
  const { values } = parseArgs({
    options: { fresh: { type: "boolean", default: false }, stream: { type: "boolean", default: false } },
  });
  process.exitCode = await demo(terminal(process.stdout, process.env), values);
} catch (error) {
  console.error(isForUsers(error) ? error.message : error);
  process.exitCode = 1;
}
