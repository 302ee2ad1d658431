/** Runs a demo from a command line, and ends its processes however the demo ends. */

import { relative } from "node:path";

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
