/** The command `dev`: the Worker, its queue and its bucket on this machine, until Ctrl-C. */

import { dev } from "example-llm/emulator";
import { main } from "example-llm/play";
import { emulated } from "./emulated.ts";

await main({ url: import.meta.url }, () => dev(emulated({ LEASE_SECONDS: "10" })));
