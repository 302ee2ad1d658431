/**
 * What home and cost cost the server does not grow with the runs of the past: statements, rows and bytes are counted. 2,000 runs
 * and 10,000 here; 10,000 and 100,000, and as many of these days, in `npm run test:full`.
 */

import { mkdtempSync, rmSync } from "node:fs";
import * as sqlite from "node:sqlite";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, durable } from "@durable/core";
import { locatorOf } from "@durable/core/inspect";
import { SqliteStorage } from "@durable/core/sqlite";
import type { RunHead } from "@durable/core";
import { afterEach, expect, inject, onTestFinished, test, vi } from "vitest";
import { Site } from "./support/ask.ts";
import { prices, secret } from "./support/journals.ts";

afterEach(() => vi.restoreAllMocks());

const dayMs = 86_400_000;
/** Appends that are under way at a time share a commit. */
const batch = 1_000;
const ends = ["completed", "failed", "cancelled"] as const;
const [few, many] = inject("full") ? [10_000, 100_000] : [2_000, 10_000];

interface Counts {
  statements: number;
  rows: number;
  bytes: number;
}

/** Counts what every connection that is opened from now on reads. */
function countReads(): Counts {
  const counts: Counts = { statements: 0, rows: 0, bytes: 0 };
  class Counted extends DatabaseSync {
    override prepare(text: string): StatementSync {
      const statement = super.prepare(text);
      const all = statement.all.bind(statement);
      const get = statement.get.bind(statement);
      statement.all = (...values: never[]) => {
        const rows = all(...values);
        counts.statements += 1;
        counts.rows += rows.length;
        return rows;
      };
      statement.get = (...values: never[]) => {
        counts.statements += 1;
        counts.rows += 1;
        return get(...values);
      };
      return statement;
    }
  }
  const real = process.getBuiltinModule.bind(process);
  vi.spyOn(process, "getBuiltinModule").mockImplementation((id: string) =>
    id === "node:sqlite" ? { ...sqlite, DatabaseSync: Counted } : real(id),
  );
  return counts;
}

/** The head of a run of this number; the last 240 are of today. */
function headAt(n: number, total: number, lastsDays: number): RunHead {
  const now = Date.now();
  const isNew = total - n <= 240;
  const createdAt = isNew
    ? now - (total - n) * 60_000 - 3_600_000
    : now - (lastsDays === 0 ? 60 * dayMs + (total - n) * 100 : ((total - n) / total) * lastsDays * dayMs);
  const waits = isNew && n % 6 === 0;
  const status = waits ? "suspended" : ends[n % 3];
  const runId = `run-${String(n).padStart(6, "0")}`;
  const day = new Date(createdAt).toISOString().slice(0, 10);
  const tokens = { inputTokens: 20_000, outputTokens: 2_000, calls: 1 };
  return {
    locator: locatorOf(runId),
    runId,
    workflow: n % 2 === 0 ? "support-agent" : "refund",
    status,
    wakeAt: null,
    dueSince: null,
    createdAt,
    updatedAt: createdAt + 5_000,
    steps: 2,
    label: null,
    parent: null,
    ancestors: [],
    tags: { customer: String(n % 50) },
    usage: [{ day, model: "model-x", label: "answer", ...tokens }],
    ...(waits ? { waits: { count: 1, expiresAt: now + dayMs, question: "Refund it?" } } : {}),
    ...(status === "failed"
      ? {
          error: { code: "step-failed", key: "answer", group: `g${n % 3}`, message: "429 Too Many Requests" },
        }
      : {}),
  } as RunHead;
}

const home = ["pulse?range=24h", "pulse?range=7d", "attention", "counts", "runs", "inbox"];
const costs = ["cost?days=14", "cost?days=30"];

/** What the screens read of a file with so many runs; journals are unreadable, so a screen that reads one fails. */
async function readsOf(total: number, lastsDays = 0): Promise<{ home: Counts; cost: Counts }> {
  const folder = mkdtempSync(join(tmpdir(), "dashboard-flat-"));
  const counts = countReads();
  const storage = new SqliteStorage(join(folder, "journal.db"));
  onTestFinished(async () => {
    await storage.close();
    rmSync(folder, { recursive: true, force: true });
  });
  for (let from = 0; from < total; from += batch) {
    const numbers = Array.from({ length: Math.min(batch, total - from) }, (_, i) => from + i);
    await Promise.all(
      numbers.map((n) => {
        const head = headAt(n, total, lastsDays);
        return storage.append({ locator: head.locator, position: 0, batch: "unreadable", head });
      }),
    );
  }
  const workflows = ["support-agent", "refund"].map((name) => durable(name, () => null));
  const app = createApp({ storage, secret, prices, workflows, bind: false });
  const site = new Site({ app, prices });
  const askAll = async (paths: readonly string[]): Promise<Counts> => {
    Object.assign(counts, { statements: 0, rows: 0, bytes: 0 });
    for (const path of paths) {
      const response = await site.fetch(`/api/${path}`);
      const text = await response.text();
      expect(response.status, text).toBe(200);
      counts.bytes += text.length;
    }
    return { ...counts };
  };
  const found = { home: await askAll(home), cost: await askAll(costs) };
  await app.close();
  vi.restoreAllMocks();
  return found;
}

test(`home and cost read the same of ${many} runs as of ${few}`, { timeout: 900_000 }, async () => {
  const [small, large] = [await readsOf(few), await readsOf(many)];
  console.log(JSON.stringify({ few, many, small, large }));
  for (const screen of ["home", "cost"] as const) {
    const [one, other] = [small[screen], large[screen]];
    expect(one.statements).toBeGreaterThan(5);
    // The storage looks after itself now and then.
    expect(Math.abs(other.statements - one.statements)).toBeLessThan(5);
    expect(Math.abs(other.rows - one.rows)).toBeLessThan(20);
    expect(Math.abs(other.bytes - one.bytes)).toBeLessThan(one.bytes / 50);
  }
});

test.runIf(inject("full"))(
  `of ${many} runs of the last 14 days, at most 20,000 of each workflow and status are read`,
  { timeout: 900_000 },
  async () => {
    const { home: pulse, cost } = await readsOf(many, 14);
    console.log(JSON.stringify({ pulse, cost }));
    expect(pulse.statements).toBeLessThan(100);
    // Two requests, each for its time and the one before: what began, and what ended of two workflows in three ways.
    expect(cost.rows).toBeLessThan(2 * 2 * (20_000 + 2 * 3 * 20_000));
  },
);
