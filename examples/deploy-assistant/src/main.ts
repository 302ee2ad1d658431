/** The command `dev`: serves until it is terminated. See server.ts for what it serves. */

import { isForUsers, terminal } from "example-llm";
import { ConfigError, readConfig } from "./config.ts";
import { openServer } from "./server.ts";

try {
  const server = await openServer(
    readConfig(process.env),
    process.env,
    terminal(process.stdout, process.env),
  );
  // Lets running requests and steps end. After a kill -9 nothing is lost either.
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void server.close().finally(() => process.exit(0)));
  // The demo keeps the input of this server open: when the demo ends, so does the server.
  if (process.env["ENDS_WITH_INPUT"] === "1") process.stdin.on("end", () => process.exit(0)).resume();
} catch (error) {
  console.error(isFixable(error) ? `${error.message}${wayOut(error)}` : error);
  process.exitCode = 1;
}

/** True for errors that a user can fix: they are shown in one line, all others with their stack. */
function isFixable(error: unknown): error is Error {
  if (error instanceof ConfigError || isForUsers(error)) return true;
  return ["EADDRINUSE", "EACCES", "EADDRNOTAVAIL", "ENOTFOUND"].includes(
    String((error as { code?: unknown }).code),
  );
}

function wayOut(error: Error): string {
  return (error as { code?: unknown }).code === "EADDRINUSE" ? ". Set PORT to another one." : "";
}
