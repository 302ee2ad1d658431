/** The command: serves until it is terminated. See server.ts for what it serves. */

import { portIn, terminal } from "example-llm";
import { nearby, serverMain } from "example-llm/play";
import { openServer } from "./server.ts";

await serverMain({ url: import.meta.url }, () => {
  const { env } = process;
  const folder = env["DURABLE_DIR"] ?? ".durable";
  const config = { port: portIn(env, 8020), folder, shownFolder: nearby(folder) };
  return openServer(config, env, terminal(process.stdout, env));
});
