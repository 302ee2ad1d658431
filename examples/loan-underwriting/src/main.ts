/** The command line: commands, arguments, exit codes. See desk.ts for what they do, demo.ts for the demo. */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isForUsers, terminal } from "example-llm";
import { demo } from "./demo.ts";
import { Desk, usualId } from "./desk.ts";

const out = terminal(process.stdout, process.env);

// Next to the example, whatever the current folder is.
process.env["DURABLE_DIR"] ||= fileURLToPath(new URL("../.durable", import.meta.url));
// The reader of the pipe, such as `head`, has closed it.
process.stdout.on("error", () => process.exit(0));
// Nothing needs to be saved here, because every step is already recorded.
process.once("SIGINT", () => process.exit(130));

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  console.error(isForUsers(error) ? error.message : error);
  process.exitCode = 1;
}

async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
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
}
