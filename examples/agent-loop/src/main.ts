/** The command: arguments, exit codes, and what Ctrl-C does. See demo.ts for what it runs. */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isForUsers, terminal } from "example-llm";
import { commandFor, demo } from "./demo.ts";

const out = terminal(process.stdout, process.env);

// Next to the example, whatever the current folder is.
process.env["DURABLE_DIR"] ||= fileURLToPath(new URL("../.durable", import.meta.url));

try {
  const { values, positionals } = parseArgs({
    options: { fresh: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const question = positionals.join(" ") || null;
  // Nothing needs to be saved here, because every step is already recorded.
  process.once("SIGINT", () => {
    out.line();
    out.line(`Interrupted. What is recorded stays; carry on with: ${commandFor(question)}`);
    process.exit(130);
  });
  process.exitCode = await demo(out, { ...values, question });
} catch (error) {
  console.error(isForUsers(error) ? error.message : error);
  process.exitCode = 1;
}
