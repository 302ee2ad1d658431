/** The command: serves until it is terminated. See server.ts for what it serves. */

import { fileURLToPath } from "node:url";
import { isForUsers, terminal } from "example-llm";
import { nearby } from "example-llm/play";
import { openServer } from "./server.ts";

try {
  const { env } = process;
  const folder = env["DURABLE_DIR"] || fileURLToPath(new URL("../.durable", import.meta.url));
  const server = await openServer(
    { port: portOf(env["PORT"]), folder, shownFolder: nearby(folder) },
    env,
    terminal(process.stdout, env),
  );
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void server.close().finally(() => process.exit(0)));
} catch (error) {
  const { code } = error as { readonly code?: unknown };
  const isTaken = code === "EADDRINUSE" || code === "EACCES";
  console.error(
    isTaken
      ? `${(error as Error).message}. Set PORT to another one.`
      : isForUsers(error)
        ? error.message
        : error,
  );
  process.exitCode = 1;
}

function portOf(text: string | undefined): number {
  const port = text === undefined || text === "" ? 8020 : Number(text);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new RangeError(`PORT is "${text}". Use a number from 0 to 65535.`);
}
