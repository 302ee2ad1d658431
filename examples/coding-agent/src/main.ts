/** The command: its arguments, and what Ctrl-C says. See demo.ts for what it runs. */

import { parseArgs } from "node:util";
import { terminal } from "example-llm";
import { main } from "example-llm/play";
import { command, demo } from "./demo.ts";

const out = terminal(process.stdout, process.env);

const onInterrupt = (): void => {
  out.line();
  out.line(`Interrupted. What is recorded stays; carry on with: ${command}`);
};

await main({ url: import.meta.url, onInterrupt }, () => {
  const { values } = parseArgs({ options: { fresh: { type: "boolean", default: false } } });
  return demo(out, values);
});
