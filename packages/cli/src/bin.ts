#!/usr/bin/env node
/** The `durable` command. */

import { runCli } from "./cli.ts";
import { exit } from "./exit.ts";
import { oldNode } from "./version.ts";

const tooOld = oldNode(process.versions.node);
if (tooOld !== null) {
  console.error(tooOld);
  process.exit(exit.failed);
}

const abort = new AbortController();
process.once("SIGINT", () => {
  abort.abort();
  // A second Ctrl-C ends at once; every step that was recorded stays recorded.
  process.once("SIGINT", () => process.exit(exit.interrupted));
});
// The reader of the pipe, such as `head`, has closed it.
process.stdout.on("error", () => process.exit(exit.ok));

// Node 22 calls node:sqlite and TypeScript experimental; the first line of every command would say so.
const emitWarning = process.emitWarning.bind(process) as (...args: unknown[]) => void;
process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
  const text = typeof warning === "string" ? warning : warning.message;
  if (!/^(SQLite|Type Stripping) is an experimental feature/.test(text)) emitWarning(warning, ...rest);
};

const { stdout, stderr, stdin, env } = process;
const status = await runCli(process.argv.slice(2), {
  stdout,
  stderr,
  stdin,
  env,
  cwd: process.cwd(),
  signal: abort.signal,
});
// Connections and timers of the user's app must not keep the command alive. Output that was written is flushed first.
await new Promise<void>((resolve) => stdout.write("", () => resolve()));
process.exit(abort.signal.aborted ? exit.interrupted : status);
