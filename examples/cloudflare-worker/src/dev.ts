/** The command `dev`: the Worker on this machine, until Ctrl-C. Its objects and its bucket are in `.durable`. */

import { dev } from "example-llm/emulator";
import { main } from "example-llm/play";

await main({ url: import.meta.url }, () => dev({ example: "cloudflare-worker", vars: { DEV: "1" } }));
