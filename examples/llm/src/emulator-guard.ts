/** Stands over the emulator: when whoever started it has gone, however that came, so have all of its processes. */

import { spawn } from "node:child_process";

const [file = "", ...args] = process.argv.slice(2);
const child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "inherit", "inherit"] });
child.once("exit", (code) => process.exit(code ?? 1));
process.stdin.on("end", () => process.kill(-process.pid, "SIGKILL")).resume();
