/** The command `dev`. See server.ts for what it serves. */

import { terminal } from "example-llm";
import { serverMain } from "example-llm/play";
import { openServer } from "./server.ts";

await serverMain({ url: import.meta.url }, () =>
  openServer(process.env, terminal(process.stdout, process.env)),
);
