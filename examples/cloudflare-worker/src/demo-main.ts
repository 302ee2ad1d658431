/** The command `demo`: two runs, two emulators, one folder. See demo.ts. */

import { terminal } from "example-llm";
import { play } from "example-llm/play";
import { Demo } from "./demo.ts";

await play(new Demo(terminal(process.stdout, process.env)));
