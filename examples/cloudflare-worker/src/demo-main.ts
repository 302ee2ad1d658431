/** The command `demo`: two runs, two emulators, one bucket. See demo.ts. */

import { terminal } from "example-llm";
import { Demo } from "./demo.ts";

const demo = new Demo(terminal(process.stdout, process.env));

// Somebody piped it into `head`, and has seen enough.
process.stdout.on("error", () => process.exit(0));
process.once("SIGINT", () => void demo.end().finally(() => process.exit(130)));

try {
  await demo.play();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  await demo.end();
}
