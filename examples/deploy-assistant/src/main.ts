/** The command `dev`: serves until it is told to end. See server.ts for what it serves. */

import { DurableError } from "@durable/core";
import { ModelChoiceError, terminal } from "example-llm";
import { ConfigError, readConfig } from "./config.ts";
import { openServer } from "./server.ts";

try {
  const server = await openServer(
    readConfig(process.env),
    process.env,
    terminal(process.stdout, process.env),
  );
  // Requests and steps under way are let end. After a kill -9, which does not ask, all is as well.
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void server.close().finally(() => process.exit(0)));
  // Whoever plays with this server, as the demo does, holds its input: when they have gone, so has it.
  if (process.env["ENDS_WITH_INPUT"] === "1") process.stdin.on("end", () => process.exit(0)).resume();
} catch (error) {
  console.error(isForUsers(error) ? `${error.message}${wayOut(error)}` : error);
  process.exitCode = 1;
}

/** What a user can put right is told in one line; anything else is a fault of this program, and keeps its stack. */
function isForUsers(error: unknown): error is Error {
  if (error instanceof ConfigError || error instanceof ModelChoiceError) return true;
  if (error instanceof RangeError || DurableError.is(error)) return true;
  return ["EADDRINUSE", "EACCES", "EADDRNOTAVAIL", "ENOTFOUND"].includes(
    String((error as { code?: unknown }).code),
  );
}

function wayOut(error: Error): string {
  return (error as { code?: unknown }).code === "EADDRINUSE" ? ". Set PORT to another one." : "";
}
