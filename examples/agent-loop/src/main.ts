/** The command: arguments, exit codes, and what Ctrl-C does. See demo.ts for what it runs. */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DurableError } from "@durable/core";
import { ModelChoiceError, terminal } from "example-llm";
import { commandFor, demo } from "./demo.ts";

const out = terminal(process.stdout, process.env);

// Beside the example, wherever it is started from.
process.env["DURABLE_DIR"] ||= fileURLToPath(new URL("../.durable", import.meta.url));

try {
  const { values, positionals } = parseArgs({
    options: { fresh: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const question = positionals.join(" ") || null;
  // Nothing is saved here, because everything is saved already.
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

/** What a user can put right is told in one line; anything else is a fault of this program, and keeps its stack. */
function isForUsers(error: unknown): error is Error {
  if (error instanceof ModelChoiceError || error instanceof RangeError || DurableError.is(error)) return true;
  return (
    error instanceof TypeError && String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS")
  );
}
