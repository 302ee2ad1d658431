/** The command. Its exit code says whether the thresholds were kept, as in CI. */

import { parseArgs } from "node:util";
import { terminal } from "example-llm";
import { main } from "example-llm/play";
import { commandFor } from "example-llm/show-run";
import { demo } from "./demo.ts";

const out = terminal(process.stdout, process.env);

const again = (): string => commandFor("eval-support-agent", "demo");

await main({ url: import.meta.url, again }, async () => {
  const { values } = parseArgs({
    options: { fresh: { type: "boolean", default: false }, ci: { type: "boolean", default: false } },
  });
  const { passed } = await demo(out, values);
  out.line(passed ? "All thresholds were kept." : "A threshold was missed: with --ci the exit code is 1.");
  return values.ci && !passed ? 1 : 0;
});
