/** The command `demo`: a crash that the queue finds, and one that the sweep finds. See demo.ts. */

import { terminal } from "example-llm";
import { play } from "example-llm/play";
import { Demo } from "./demo.ts";

await play(new Demo(terminal(process.stdout, process.env)));
