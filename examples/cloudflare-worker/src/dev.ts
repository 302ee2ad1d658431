/** The command `dev`: the Worker on this machine, until Ctrl-C. Its bucket is in `.durable`. */

import { dev } from "example-llm/emulator";

dev({ example: "cloudflare-worker", vars: { DEV: "1", LEASE: "10s" } });
