/** What every command of the examples does around its work: its folder, Ctrl-C, closed pipes, errors and exit codes. */

import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isForUsers } from "./user-errors.ts";

export interface MainOptions {
  /** `import.meta.url` of the command: journals are next to the example, whatever the current folder is. */
  readonly url: string;
  /** Says how to go on. Nothing needs to be saved, because every step is already recorded. */
  readonly onInterrupt?: () => void;
}

/** Runs a command, which returns its exit code. */
export async function main({ url, onInterrupt }: MainOptions, work: () => Promise<number>): Promise<void> {
  process.env["DURABLE_DIR"] ||= fileURLToPath(new URL("../.durable", url));
  // The reader of the pipe, such as `head`, has closed it.
  process.stdout.on("error", () => process.exit(0));
  process.once("SIGINT", () => {
    onInterrupt?.();
    process.exit(130);
  });
  try {
    process.exitCode = await work();
  } catch (error) {
    console.error(isForUsers(error) ? error.message : error);
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
