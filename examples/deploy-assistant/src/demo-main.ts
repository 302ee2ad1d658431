/** The command `demo`: a conversation with a server that it starts. See demo.ts. */

import { terminal } from "example-llm";
import { play } from "example-llm/play";
import { Demo } from "./demo.ts";

await play(new Demo(terminal(process.stdout, process.env)));
