/** The command `demo`: a conversation with a server of its own. See demo.ts. */

import { terminal } from "example-llm";
import { play } from "example-llm/play";
import { Demo } from "./demo.ts";

await play(new Demo(terminal(process.stdout, process.env)));
