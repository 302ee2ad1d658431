/** The command `dev`: the Worker, its queue and its bucket on this machine, until Ctrl-C. */

import { dev } from "example-llm/emulator";
import { emulated } from "./emulated.ts";

dev(emulated({ LEASE_SECONDS: "10" }));
