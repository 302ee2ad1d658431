/**
 * Pauses of workflows are not sealed, also with encryption: a writer of the storage can remove one in any case. A forged pause
 * is a delay that operators see and end, and a removed one lets recorded work begin; the journals are as without it.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createApp, durable, type App, type Storage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { fleetOf } from "@durable/core/inspect";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterAll, expect, test } from "vitest";
import { writeObject } from "../../src/adapters/remote/record.ts";

const folder = mkdtempSync(join(tmpdir(), "pauses-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

interface Pause {
  readonly workflow: string;
  readonly reason: string | null;
  readonly since: number;
}

/** A storage, and what its writer does to the pauses: all of them are replaced. */
interface Stage {
  /** A handle of its own, as another process has it. */
  readonly open: () => Storage;
  readonly forge: (pauses: readonly Pause[]) => Promise<void>;
}

function sqlite(): Stage {
  const path = join(folder, `${++files}.db`);
  const forge = async (pauses: readonly Pause[]): Promise<void> => {
    const database = new DatabaseSync(path);
    database.exec("DELETE FROM paused_workflows");
    const add = database.prepare("INSERT INTO paused_workflows (workflow, reason, since) VALUES (?, ?, ?)");
    for (const { workflow, reason, since } of pauses) add.run(workflow, reason, since);
    database.close();
  };
  return { open: () => new SqliteStorage(path), forge };
}

function bucket(): Stage {
  const objects = new MemoryBucket();
  const forge = async (pauses: readonly Pause[]): Promise<void> => {
    const { keys } = await objects.list({ prefix: "pause-records/" });
    const last = keys.toSorted().at(-1) ?? "";
    // Sums are for accidents: an attacker computes them.
    await objects.put(last, writeObject({ version: "forged", value: pauses }));
  };
  return { open: () => new RemoteStorage(objects), forge };
}

const key = Uint8Array.from({ length: 32 }, (_, n) => n * 7 + 1);

/** Each app reads the pauses anew, as a process would that looks later. */
function appOn(storage: Storage): App {
  const work = durable("work", (ctx, input: string) => ctx.step("act", () => `did ${input}`));
  const other = durable("other", () => "done");
  const encryption = aesGcm({ current: "a", keys: { a: key } });
  return createApp({ storage, encryption, workflows: [work, other], bind: false });
}

const kinds = async (app: App, id: string): Promise<string[]> =>
  (await app.get(id).entries()).map((entry) => entry.kind);
const whole = ["run.started", "step.completed", "run.completed"];

const stages = [
  ["SQLite", sqlite],
  ["a bucket", bucket],
] as const;

test.each(stages)("a forged pause in %s is a delay that operators see and end", async (_, open) => {
  const stage = open();
  // A bucket has a record of pauses after the first.
  await appOn(stage.open()).pause("other");
  await appOn(stage.open()).unpause("other");
  const forged = { workflow: "work", reason: "call 0900 123", since: 1 };
  await stage.forge([forged]);
  const app = appOn(stage.open());
  expect(await app.run("work", "this", { id: "r" })).toMatchObject({
    status: "paused",
    reason: forged.reason,
  });
  expect((await app.sweep()).outcomes).toEqual([]);
  expect(await kinds(app, "r")).toEqual(["run.started"]);
  // Operators see it wherever they look.
  expect(await app.paused()).toEqual([forged]);
  expect((await app.list()).runs).toMatchObject([{ runId: "r", state: "paused" }]);
  expect((await fleetOf(app)).load).toMatchObject([{ workflow: "work", paused: true }]);
  // They end it, and the run does what it would have done.
  await app.unpause("work");
  expect(await app.advance("r")).toMatchObject({ status: "completed", output: "did this" });
  expect(await kinds(app, "r")).toEqual(whole);
});

test.each(stages)(
  "a pause that is removed from %s lets recorded work begin, and no other",
  async (_, open) => {
    const stage = open();
    await appOn(stage.open()).pause("work", { reason: "until Monday" });
    expect(await appOn(stage.open()).run("work", "this", { id: "r" })).toMatchObject({ status: "paused" });
    await stage.forge([]);
    const app = appOn(stage.open());
    expect(await app.paused()).toEqual([]);
    await app.sweep();
    expect((await app.list()).runs.map(({ runId }) => runId)).toEqual(["r"]);
    expect(await app.get("r").result()).toBe("did this");
    expect(await kinds(app, "r")).toEqual(whole);
  },
);
