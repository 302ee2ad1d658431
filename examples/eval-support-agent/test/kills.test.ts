import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, inject, test } from "vitest";
import { locatorOf } from "@durable/core/inspect";
import { SqliteStorage } from "@durable/core/sqlite";
import { orders } from "../src/orders.ts";

const main = fileURLToPath(new URL("life.ts", import.meta.url));

function live(
  folder: string,
  what: string,
  dies = 0,
): { readonly out: string; readonly signal: string | null } {
  const args = [
    "--conditions=durable-source",
    "--disable-warning=ExperimentalWarning",
    main,
    folder,
    what,
    String(dies),
  ];
  const { stdout, stderr, signal, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (signal === null && status !== 0) throw new Error(stderr);
  return { out: stdout, signal };
}

async function originals(folder: string): Promise<string> {
  const storage = new SqliteStorage(join(folder, "journal.db"));
  const batches = await Promise.all(
    orders.map(async ({ id }) => (await storage.read(locatorOf(id))).batches),
  );
  await storage.close();
  return JSON.stringify(batches);
}

/** Both evals asked by themselves: how long the answers took is all that may differ. */
const withoutTimes = (report: string): string => report.replaceAll(/"time":\{[^}]*\}/g, "");

const count = (folder: string, what: string): number =>
  readFileSync(join(folder, `calls-${what}`), "utf8").length;

test("an eval that is killed again and again ends with the same report, and pays only for what was in flight", async () => {
  const kills = inject("full") ? 20 : 1;
  // Four forks, or verdicts, are in flight at a time.
  const concurrency = 4;
  const parent = mkdtempSync(join(tmpdir(), "durable-evals-"));
  const [calm, killed] = [join(parent, "calm"), join(parent, "killed")];
  try {
    cpSync(mkdtempSync(join(parent, "new-")), calm, { recursive: true });
    live(calm, "record");
    cpSync(calm, killed, { recursive: true });
    const before = await originals(killed);
    const report = live(calm, "eval").out;
    const ideal = count(calm, "eval");
    expect(ideal).toBe(114);
    for (let i = 0; i < kills; i++) expect(live(killed, "eval", 6).signal).toBe("SIGKILL");
    const last = live(killed, "eval").out;
    expect(withoutTimes(last)).toBe(withoutTimes(report));
    expect(live(killed, "eval").out).toBe(last);
    const calls = count(killed, "eval");
    expect(calls).toBeGreaterThanOrEqual(ideal + kills);
    expect(calls).toBeLessThanOrEqual(ideal + kills * concurrency);
    expect(await originals(killed)).toBe(before);
    expect(existsSync(join(killed, "effects-eval"))).toBe(false);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}, 600_000);
