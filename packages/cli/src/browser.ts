/**
 * Opens the browser.
 *
 * browser.1. The address has a token, and the arguments of a process are read by every user of a machine. So the browser gets a file
 *     that only its owner can read, which leads to the address.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CliStreams } from "./terminal.ts";

const programs: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Returns what removes the file again. A machine may have no browser: the address is printed as well. */
export function openBrowser(url: string, { env }: Pick<CliStreams, "env">): () => void {
  const folder = mkdtempSync(join(tmpdir(), "durable-ui-"));
  const file = join(folder, "open.html");
  const page = `<!doctype html><meta name="referrer" content="no-referrer"><script>location.replace(${JSON.stringify(url)})</script>`;
  writeFileSync(file, page, { mode: 0o600 });
  const [program = "", ...args] = env["BROWSER"]
    ? [env["BROWSER"]]
    : (programs[process.platform] ?? ["xdg-open"]);
  const child = spawn(program, [...args, file], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
  return () => rmSync(folder, { recursive: true, force: true });
}
