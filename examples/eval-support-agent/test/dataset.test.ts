import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApp, MemoryStorage } from "@durable/core";
import { exampleNote, exampleScore } from "@durable/core/inspect";
import { SqliteStorage } from "@durable/core/sqlite";
import { evaluate } from "@durable/evals";
import { replayGolden } from "@durable/testing";
import { expect, onTestFinished, test } from "vitest";
import { createAgent, questionAbout, shop } from "../src/agent.ts";
import { policy, promised } from "../src/eval.ts";
import { agentModel } from "../src/models.ts";
import { euros, orders, owed } from "../src/orders.ts";

const cli = fileURLToPath(new URL("../../../packages/cli/src/bin.ts", import.meta.url));

/** Two conversations that people kept as examples, in a database of their own. */
async function kept(path: string): Promise<void> {
  const storage = new SqliteStorage(path);
  const agent = createAgent(
    agentModel(),
    shop(() => {}),
  );
  const app = createApp({ workflows: [agent], storage, bind: false });
  for (const order of [orders[0]!, orders[33]!]) {
    await app.run(agent, questionAbout(order), { id: order.id });
    const note = exampleNote({ label: `about ${order.goods}`, expected: euros(owed(order)) });
    await app.get(order.id).score(exampleScore, true, note);
  }
  await app.close();
  await storage.close();
}

test("a dataset from production is asked again by an eval, with what people expect, and replayed by a test", async () => {
  const folder = mkdtempSync(join(tmpdir(), "durable-dataset-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await kept(join(folder, "production.db"));
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      "--conditions=durable-source",
      cli,
      "export",
      "--dataset",
      "set",
      "--no-app",
      "--store",
      "production.db",
    ],
    { cwd: folder, encoding: "utf8" },
  );
  expect(status, stderr).toBe(0);

  const done: string[] = [];
  const agent = createAgent(
    agentModel(),
    shop((what) => done.push(what)),
  );
  const app = createApp({ workflows: [agent], storage: new MemoryStorage(), bind: false });
  const dataset = join(folder, "set");
  const ask = () =>
    evaluate(app, {
      name: "policy",
      runs: { dataset },
      variants: [{ name: "policy stated", prompt: policy }],
      score: { refund: ({ after, expected }) => promised(after.text) === expected },
    });
  const report = await ask();
  expect(new Map(report.cases.map(({ runId, label }) => [runId, label]))).toEqual(
    new Map([orders[0]!, orders[33]!].map(({ id, goods }) => [id, `about ${goods}`])),
  );
  expect(report.variants[1]).toMatchObject({ n: 2, stopped: 0, better: 1, worse: 1 });
  expect(report.paid.calls).toBe(2);
  expect(done).toEqual([]);
  expect(JSON.stringify(await ask())).toBe(JSON.stringify(report));

  const { journals } = await replayGolden(dataset, { against: agent });
  expect(journals.map(({ verdict }) => verdict)).toEqual(["replays", "replays"]);

  // What people expect is edited in the manifest.
  const path = join(dataset, "manifest.json");
  writeFileSync(
    path,
    readFileSync(path, "utf8").replaceAll(/"expected": ".*"/g, '"expected": "nothing of it"'),
  );
  expect((await ask()).variants[1]?.scores["refund"]?.mean).toBe(0);
  rmSync(join(dataset, `${orders[0]!.id}.json`));
  await expect(ask()).rejects.toThrow(/The dataset cannot be read: .*support-01\.json/);
  await expect(
    evaluate(app, {
      name: "none",
      runs: { dataset: folder },
      variants: [{ name: "v" }],
      score: { a: () => 1 },
    }),
  ).rejects.toThrow(/The dataset cannot be read/);
}, 300_000);
