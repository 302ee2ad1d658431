/** The command and its arguments. See demo.ts for what it runs. */

import { parseArgs } from "node:util";
import { terminal } from "example-llm";
import { main } from "example-llm/play";
import { commandOf, demo } from "./demo.ts";

let question: string | null = null;

await main({ url: import.meta.url, again: () => commandOf(question) }, () => {
  const { values, positionals } = parseArgs({
    options: { fresh: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  question = positionals.join(" ") || null;
  return demo(terminal(process.stdout, process.env), { ...values, question });
});
