/**
 * Kills the desk at an instant, starts it again, answers its wait in another process, and checks:
 *
 * K1. It comes to its end, with the answer of the model.
 * K2. Each effect happens once, at a receiver that recognizes repetitions by their idempotency key.
 * K3. The provider is called at most once more than without the kill.
 * K4. A person is asked once.
 *
 * Instants are counted in what the world sees: pieces that the provider sent, and requests of tools, before and after they are answered.
 */

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApp } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { Loopback } from "../../../ai-sdk/test/support/loopback.ts";
import { clerk, ideal } from "./desk.ts";
import { Provider } from "./provider.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const program = fileURLToPath(new URL("./desk-child.ts", import.meta.url));
const living = new Set<ChildProcess>();

export interface Killed {
  /** The number of instants until the end. */
  readonly instants: number;
  readonly killed: boolean;
  /** What is wrong; nothing when all holds. */
  readonly wrong: readonly string[];
  /** Calls of the provider beyond those without a kill. */
  readonly extra: number;
}

/** Kills it at that instant, counted from 1; 0 means no kill. */
export async function killAt(instant: number, mode: "stream" | "whole"): Promise<Killed> {
  const folder = mkdtempSync(join(tmpdir(), "openai-agents-kill-"));
  const journal = join(folder, "journal.db");
  let [seen, killed] = [0, false];
  let child: ChildProcess | null = null;
  const happened = (): void => {
    seen += 1;
    if (seen === instant) child?.kill("SIGKILL");
  };
  const provider = await new Provider(clerk).open();
  provider.paceMs = 3;
  provider.onEvent = happened;
  const effects = new Set<string>();
  const receiver = new Loopback((request, response) => {
    effects.add(`${String(request.headers["x-call"])} ${String(request.headers["idempotency-key"])}`);
    happened();
    setTimeout(() => {
      response.end("paid");
      happened();
    }, 3);
  });
  await receiver.listen();
  try {
    let [task, end] = ["wait", { code: null as number | null, out: "" }];
    while (end.code !== 0) {
      child = start([journal, provider.baseURL, receiver.origin, mode, task]);
      end = await ended(child);
      if (end.code === null && killed) break;
      killed ||= end.code === null;
      if (end.code === 1) break;
      if (end.code === 3) task = "answer";
    }
    const wrong: string[] = [];
    if (end.code !== 0 || !/All is booked and paid, says answer \d of the model\./.test(end.out))
      wrong.push(`K1: ${end.code} ${end.out}`);
    if (effects.size !== ideal.effects) wrong.push(`K2: ${[...effects].join(", ")}`);
    const extra = provider.requests - ideal.calls;
    if (extra > (killed ? 1 : 0)) wrong.push(`K3: ${provider.requests} calls`);
    const asked = await waitsIn(journal);
    if (asked !== 1) wrong.push(`K4: asked ${asked} times`);
    return { instants: seen, killed, wrong, extra };
  } finally {
    await provider.close();
    await receiver.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Kills the processes that are left. */
export function killAll(): void {
  for (const child of living) child.kill("SIGKILL");
}

function start(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, ["--conditions=durable-source", program, ...args], {
    cwd: root,
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node-compile") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  living.add(child);
  return child;
}

function ended(child: ChildProcess): Promise<{ code: number | null; out: string }> {
  let out = "";
  child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (out += chunk.toString()));
  return new Promise((resolve) => {
    child.once("close", (code) => {
      living.delete(child);
      resolve({ code, out });
    });
  });
}

async function waitsIn(journal: string): Promise<number> {
  const storage = new SqliteStorage(journal);
  try {
    const entries = await createApp({ storage, workflows: [] }).get("desk").entries();
    return entries.filter(({ kind }) => kind === "suspend.opened").length;
  } finally {
    await storage.close();
  }
}
