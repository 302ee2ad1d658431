/** What every command of the examples does around its work: its folder, Ctrl-C, closed pipes, errors and exit codes. */

import { once } from "node:events";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isForUsers, isPortProblem } from "./user-errors.ts";

export interface MainOptions {
  /** `import.meta.url` of the command: journals are next to the example, whatever the current folder is. */
  readonly url: string;
  /** The command that goes on after Ctrl-C. Nothing needs to be saved, because every step is already recorded. */
  readonly again?: () => string;
}

/** Runs a command, which returns its exit code. */
export async function main({ url, again }: MainOptions, work: () => Promise<number>): Promise<void> {
  process.once("SIGINT", () => {
    if (again) console.log(`\nInterrupted. What is recorded stays; carry on with: ${again()}`);
    process.exit(130);
  });
  await guarded(url, async () => {
    process.exitCode = await work();
  });
}

/** Runs a server until it is told to end. Its requests and steps may end; after a kill -9 nothing is lost either. */
export async function serverMain(
  { url }: Pick<MainOptions, "url">,
  open: () => Promise<{ close(): Promise<void> }>,
): Promise<void> {
  await guarded(url, async () => {
    const server = await open();
    // A demo keeps the input of its server open: when the demo ends, so does the server.
    if (process.env["ENDS_WITH_INPUT"] === "1") process.stdin.on("end", () => process.exit(0)).resume();
    await Promise.race(["SIGINT", "SIGTERM"].map((signal) => once(process, signal)));
    await server.close();
    process.exit(0);
  });
}

/** The folder of journals: `DURABLE_DIR`, or `.durable` next to the sources of the example. */
export function folderOf(url: string): string {
  return (process.env["DURABLE_DIR"] ||= fileURLToPath(new URL("../.durable", url)));
}

async function guarded(url: string, work: () => Promise<void>): Promise<void> {
  folderOf(url);
  // The reader of the pipe, such as `head`, has closed it.
  process.stdout.on("error", () => process.exit(0));
  try {
    await work();
  } catch (error) {
    const isPort = isPortProblem(error);
    console.error(
      isPort ? `${error.message}. Set PORT to another one.` : isForUsers(error) ? error.message : error,
    );
    process.exitCode = 1;
  }
}

export interface Playable {
  play(): Promise<void>;
  end(): Promise<void>;
}

export async function play(demo: Playable): Promise<void> {
  // The reader of the pipe, such as `head`, has closed it.
  process.stdout.on("error", () => process.exit(0));
  process.once("SIGINT", () => void demo.end().finally(() => process.exit(130)));
  try {
    await demo.play();
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  } finally {
    await demo.end();
  }
}

/** A path as a user would type it in the folder of the command. */
export function nearby(path: string): string {
  const short = relative(process.env["INIT_CWD"] ?? process.cwd(), path);
  return short.startsWith("..") ? path : short;
}
