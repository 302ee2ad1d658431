/** The command `dev`: the Worker on this machine, until Ctrl-C. Its bucket is kept in `.durable`. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { wrangler } from "example-llm/emulator";

const { command, cwd, env } = wrangler({
  example: "cloudflare-worker",
  folder: process.env["DURABLE_DIR"] || fileURLToPath(new URL("../.durable/dev", import.meta.url)),
  port: Number(process.env["PORT"] || 8787),
  vars: { DEV: "1", LEASE: "10s" },
});
const child = spawn(process.execPath, command, { cwd, env, stdio: "inherit" });
// Ctrl-C reaches both; the last word is wrangler's.
process.on("SIGINT", () => {});
child.once("exit", (code) => process.exit(code ?? 0));
