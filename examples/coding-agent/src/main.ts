/** The command: arguments, exit codes, and what Ctrl-C does. See demo.ts for what it runs. */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isForUsers, terminal } from "example-llm";
import { command, demo } from "./demo.ts";

const out = terminal(process.stdout, process.env);

// Next to the example, whatever the current folder is.
process.env["DURABLE_DIR"] ||= fileURLToPath(new URL("../.durable", import.meta.url));
// The reader of the pipe, such as `head`, has closed it.
process.stdout.on("error", () => process.exit(0));

try {
  const { values } = parseArgs({ options: { fresh: { type: "boolean", default: false } } });
  // Nothing needs to be saved here, because every step is already recorded.
  process.once("SIGINT", () => {
    out.line();
    out.line(`Interrupted. What is recorded stays; carry on with: ${command}`);
    process.exit(130);
  });
  process.exitCode = await demo(out, values);
} catch (error) {
  console.error(isForUsers(error) ? error.message : error);
  process.exitCode = 1;
}
