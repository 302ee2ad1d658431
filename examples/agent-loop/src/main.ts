/** The command: its arguments, and what Ctrl-C says. See demo.ts for what it runs. */

import { parseArgs } from "node:util";
import { terminal } from "example-llm";
import { main } from "example-llm/play";
import { commandFor, demo } from "./demo.ts";

const out = terminal(process.stdout, process.env);
let question: string | null = null;

const onInterrupt = (): void => {
  out.line();
  out.line(`Interrupted. What is recorded stays; carry on with: ${commandFor(question)}`);
};

await main({ url: import.meta.url, onInterrupt }, () => {
  const { values, positionals } = parseArgs({
    options: { fresh: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  question = positionals.join(" ") || null;
  return demo(out, { ...values, question });
});
