/** The command `demo`: one crash that the queue recovers, and one that the sweep recovers. See demo.ts. */

import { terminal } from "example-llm";
import { play } from "example-llm/play";
import { Demo } from "./demo.ts";

await play(new Demo(terminal(process.stdout, process.env)));
