/** Watches over the emulator: when its parent or its program dies, for whatever reason, all of its processes die. */

import { spawn } from "node:child_process";

const killAll = (): boolean => process.kill(-process.pid, "SIGKILL");
const [file = "", ...args] = process.argv.slice(2);
const child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "inherit", "inherit"] });
// A program that was killed leaves its workerd behind.
child.once("exit", (code) => (code === null ? killAll() : process.exit(code)));
process.stdin.on("end", killAll).resume();
