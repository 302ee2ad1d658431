/** The command: arguments and exit codes. See demo.ts for what it runs. */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DurableError } from "@durable/core";
import { ModelChoiceError, terminal } from "example-llm";
import { demo } from "./demo.ts";

// Beside the example, wherever it is started from.
process.env["DURABLE_DIR"] ||= fileURLToPath(new URL("../.durable", import.meta.url));

try {
  const { values } = parseArgs({
    options: { fresh: { type: "boolean", default: false }, stream: { type: "boolean", default: false } },
  });
  process.exitCode = await demo(terminal(process.stdout, process.env), values);
} catch (error) {
  const forUsers = error instanceof ModelChoiceError || error instanceof RangeError || DurableError.is(error);
  console.error(forUsers ? error.message : error);
  process.exitCode = 1;
}
