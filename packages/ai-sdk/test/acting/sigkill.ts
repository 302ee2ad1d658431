/** Kills real processes that run a program that acts on words. The checks are those of kills.ts. */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createApp } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { SqliteStorage } from "@durable/core/sqlite";
import { faults, type Survived } from "./kills.ts";
import { recordedIds, type Seen } from "./stage.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const child = fileURLToPath(new URL("./child.ts", import.meta.url));

interface Ended {
  readonly status: string;
  readonly error: string | null;
}

/** Kills the process when it has written so many lines, and starts it again. */
export async function killProcess(program: string, lines: number): Promise<Survived> {
  const folder = mkdtempSync(join(tmpdir(), "ai-sdk-acting-"));
  const journal = join(folder, "journal.db");
  const content = new Map<string, string>();
  const troubles: string[] = [];
  let [kills, requests] = [0, 0];
  try {
    for (let life = 1; ; life++) {
      const before = recordedIds(await entriesOf(journal));
      const { seen, end } = await live([journal, program, String(life)], life === 1 ? lines : Infinity);
      for (const one of seen)
        if ("request" in one) {
          content.set(one.id, one.request);
          requests += 1;
        }
      troubles.push(...faults(seen, before, content).map((trouble) => `life ${life}: ${trouble}`));
      if (end !== null) {
        if (end.status !== "completed") troubles.push(`life ${life}: ${end.status} ${end.error}`);
        return { kills, appends: 0, requests, troubles };
      }
      kills += 1;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function live(
  args: readonly string[],
  lines: number,
): Promise<{ readonly seen: readonly Seen[]; readonly end: Ended | null }> {
  const started = spawn(process.execPath, ["--conditions=durable-source", child, ...args], {
    cwd: root,
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node-compile") },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const seen: Seen[] = [];
  let end: Ended | null = null;
  const closed = new Promise<void>((resolve) => started.once("close", () => resolve()));
  for await (const line of createInterface({ input: started.stdout })) {
    const one = JSON.parse(line) as Seen | Ended;
    if ("status" in one) end = one;
    else if (seen.push(one) === lines) started.kill("SIGKILL");
  }
  await closed;
  if (end === null && seen.length < lines) throw new Error(`The process of "${args[1]}" ended by itself.`);
  return { seen, end };
}

async function entriesOf(journal: string): Promise<Entry[]> {
  const storage = new SqliteStorage(journal);
  try {
    return await createApp({ storage, workflows: [] }).get("r").entries();
  } catch (error) {
    // Killed before its first entry.
    if ((error as { code?: unknown }).code === "not-found") return [];
    throw error;
  } finally {
    await storage.close();
  }
}
