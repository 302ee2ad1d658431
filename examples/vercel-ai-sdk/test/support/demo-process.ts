/** The demo as a user starts it: a process of its own, in a folder of its own. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DemoProcess, killDemos, type Ended } from "example-llm/process";

const example = "vercel-ai-sdk";
const folders: string[] = [];

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), `${example}-`));
  folders.push(folder);
  return folder;
}

/** Runs the demo to its end, or kills it as soon as it has printed `until`. */
export async function runDemo(
  folder: string,
  args: readonly string[],
  { until, env = {} }: { readonly until?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Ended> {
  const demo = new DemoProcess({ example, folder }, { args, env: { DEMO_PACE: "0.02", ...env } });
  if (until !== undefined && (await demo.printed(until))) return demo.kill();
  return demo.ended;
}

/** Ends and removes whatever a test left behind. */
export function cleanUp(): void {
  killDemos();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
