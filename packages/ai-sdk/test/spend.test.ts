/** What the app says that its runs used is what the provider has counted, whatever the runs do. */
import { copyRuns, createApp, MemoryStorage, type App } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { Spenders, type Billed, type By } from "./support/spend-programs.ts";

const groupings: readonly By[] = ["day", "model", "workflow", "label", "tag"];
const programs = inject("full") ? 300 : 24;

async function expectBilled(spenders: Spenders, by: By, app: App = spenders.app): Promise<void> {
  const { rows } = await app.spend({ by });
  const bill = spenders.bill(by);
  expect(rows.map(({ key }) => key).toSorted(), by).toEqual([...bill.keys()].toSorted());
  for (const { key, inputTokens, outputTokens, cost } of rows) {
    const sum = bill.get(key);
    expect({ key, inputTokens, outputTokens }, by).toEqual({
      key,
      inputTokens: sum?.inputTokens,
      outputTokens: sum?.outputTokens,
    });
    if (sum?.cost === null) expect(cost, `${by} ${key}`).toBeNull();
    else expect(cost, `${by} ${key}`).toBeCloseTo(sum?.cost ?? -1, 9);
  }
}

function sumOf(billed: readonly Billed[]) {
  const sum = { inputTokens: 0, outputTokens: 0, unknown: 0 };
  for (const { inputTokens, outputTokens } of billed) {
    sum.inputTokens += inputTokens;
    sum.outputTokens += outputTokens;
  }
  return sum;
}

test(
  `${programs} generated programs: sums equal what the provider counted, also in a copy and after a purge`,
  { timeout: 300_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "durable-spend-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    let [runs, calls, chats] = [0, 0, 0];
    for (const [n, storage] of [
      new MemoryStorage(),
      new SqliteStorage(join(folder, "journal.db")),
    ].entries()) {
      const spenders = new Spenders(11 + n, storage);
      for (let i = 0; i < programs / 2; i++) {
        await spenders.play(`p${i}`);
        if (i % 3 !== 0) continue;
        const before = spenders.billed.length;
        const { inputTokens, outputTokens, unknown } = await spenders.chat(`c${i}`);
        expect({ inputTokens, outputTokens, unknown }).toEqual(sumOf(spenders.billed.slice(before)));
        chats += 1;
      }
      for (const by of groupings) await expectBilled(spenders, by);
      const copied = new MemoryStorage();
      await copyRuns(storage, copied);
      const app = createApp({ storage: copied, workflows: [], bind: false });
      for (const by of groupings) await expectBilled(spenders, by, app);
      calls += spenders.billed.length;
      const all = await spenders.app.spend({ by: "day" });
      const { runs: purged } = await spenders.app.purge({
        olderThan: 0,
        status: ["completed", "failed", "cancelled"],
      });
      runs += purged;
      expect((await storage.list()).runs).toEqual([]);
      for (const by of ["day", "model", "workflow"] as const) await expectBilled(spenders, by);
      for (const by of ["label", "tag"] as const) {
        const { rows, inputTokens, outputTokens } = await spenders.app.spend({ by });
        expect(rows.map(({ key }) => key)).toEqual(["purged"]);
        expect({ inputTokens, outputTokens }).toEqual({
          inputTokens: all.inputTokens,
          outputTokens: all.outputTokens,
        });
      }
      if (storage instanceof SqliteStorage) await storage.close();
    }
    expect(chats).toBeGreaterThanOrEqual(programs / 3);
    expect(runs).toBeGreaterThanOrEqual(programs);
    expect(calls).toBeGreaterThan(programs * 2);
  },
);
