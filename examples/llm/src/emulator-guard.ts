/**
 * The parent process of the emulator: when the process that started it ends, for any reason, it kills the
 * whole group.
 */

import { spawn } from "node:child_process";

const [file = "", ...args] = process.argv.slice(2);
const child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "inherit", "inherit"] });
child.once("exit", (code) => process.exit(code ?? 1));
process.stdin.on("end", () => process.kill(-process.pid, "SIGKILL")).resume();
