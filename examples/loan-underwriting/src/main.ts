/** The command line: commands and their arguments. See desk.ts for what they do, demo.ts for the demo. */

import { parseArgs } from "node:util";
import { terminal } from "example-llm";
import { main } from "example-llm/play";
import { demo } from "./demo.ts";
import { Desk, usualId } from "./desk.ts";

const out = terminal(process.stdout, process.env);

await main({ url: import.meta.url }, async () => {
  const { values, positionals } = parseArgs({
    options: {
      id: { type: "string", default: usualId },
      fresh: { type: "boolean", default: false },
      limit: { type: "string" },
      value: { type: "string" },
      comment: { type: "string" },
    },
    allowPositionals: true,
  });
  const [command, first, verdict] = positionals;
  const desk = await Desk.open(out, process.env);
  switch (command) {
    case "demo":
      return demo(out, desk);
    case "apply":
      return desk.apply(values);
    case "review":
      return first === undefined ? desk.reviews() : desk.review(first, { verdict, ...values });
    case "fork":
      return desk.fork(first, values.id);
    default:
      throw new RangeError(`Unknown command "${command ?? ""}". Use demo, apply, review or fork.`);
  }
});
