/** The command and its arguments. See demo.ts for what it runs. */

import { parseArgs } from "node:util";
import { terminal } from "example-llm";
import { main } from "example-llm/play";
import { command, demo } from "./demo.ts";

await main({ url: import.meta.url, again: () => command }, () => {
  const { values } = parseArgs({ options: { fresh: { type: "boolean", default: false } } });
  return demo(terminal(process.stdout, process.env), values);
});
