/** Which run has a singleton or debounce key: the storage says it, and the journal of that run decides. */

import { DatabaseSync } from "node:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, durable, type App } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { SqliteStorage } from "@durable/core/sqlite";
import { sumOf } from "../../src/adapters/sqlite/sums.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const keys = { a: Uint8Array.from({ length: 32 }, (_, n) => n * 7 + 1) };
const flow = durable("flow", async (ctx, input: string) => [input, await ctx.suspend("go")]);
const other = durable("other", async (ctx, input: string) => [input, await ctx.suspend("go")]);

let folder: string;
let storage: SqliteStorage;
let app: App;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "owners-"));
  storage = new SqliteStorage(join(folder, "journal.db"));
  const encryption = aesGcm({ current: "a", keys });
  app = createApp({ storage, encryption, workflows: [flow, other], patience: 0, bind: false });
});
afterEach(async () => {
  await app.close();
  await storage.close();
  rmSync(folder, { recursive: true });
});

function write(sql: string): void {
  const database = new DatabaseSync(join(folder, "journal.db"));
  database.exec(sql);
  database.close();
}

const parked = async (id: string, options: object = {}, workflow = "flow"): Promise<void> => {
  const run = await app.start(workflow, `input of ${id}`, { id, ...options });
  await run.result().catch(() => {});
};

describe("a key that a writer of the storage gave to another run", () => {
  test("a debounced start does not put its input there", async () => {
    await parked("m-1");
    write("update runs set singleton = 'debounce bk' where run_id = 'm-1'");
    const before = await app.get("m-1").entries();
    const start = app.start("flow", "private", { id: "v-1", debounce: { key: "bk", wait: "1h" } });
    await expect(start).rejects.toMatchObject({ code: "tampered", details: { runId: "m-1" } });
    expect(await app.get("m-1").entries()).toEqual(before);
  });

  test("a singleton start is not answered with it", async () => {
    await parked("m-1");
    write("update runs set singleton = 'one k' where run_id = 'm-1'");
    await expect(app.start("flow", "x", { id: "v-1", singleton: "k" })).rejects.toThrow(
      /m-1.*Nothing was started/,
    );
  });

  test("nor with a run that has another key, or the key of another scope", async () => {
    await parked("m-1", { singleton: "mine" });
    await parked("m-2", { singleton: "k", scope: "m" });
    for (const id of ["m-1", "m-2"]) {
      write(`update runs set singleton = 'one k' where run_id = '${id}'`);
      await expect(app.start("flow", "x", { id: "v-1", singleton: "k" })).rejects.toMatchObject({
        code: "tampered",
      });
      write(`update runs set singleton = null where run_id = '${id}'`);
    }
  });

  test("and of which it says that it is another run ends the start, and not in a loop", async () => {
    await app.start("flow", "first", { id: "v-1", debounce: { key: "d", wait: "1h" } });
    // With the right sum, as an attacker would write it.
    const columns = "locator, run_id, workflow, created_at, label, parent, ancestors";
    write("update runs set created_at = created_at + 1");
    const database = new DatabaseSync(join(folder, "journal.db"));
    const row = Object.values(database.prepare(`select ${columns} from runs`).get() ?? {});
    database.prepare("update runs set about_sum = ?").run(sumOf(row as string[]));
    database.close();
    const again = app.start("flow", "second", { id: "v-2", debounce: { key: "d", wait: "1h" } });
    await expect(again).rejects.toMatchObject({ code: "conflict" });
  });

  test("the owner itself is returned and moved as before", async () => {
    await parked("v-1", { singleton: "k" });
    expect((await app.start("flow", "x", { singleton: "k" })).id).toBe("v-1");
    await app.start("flow", "first", { id: "v-2", debounce: { key: "d", wait: "1h" } });
    const moved = await app.start("flow", "second", { debounce: { key: "d", wait: "1h" } });
    expect([moved.id, (await moved.entries()).at(-1)]).toMatchObject(["v-2", { input: "second" }]);
  });
});

describe("mayJoin", () => {
  test("is asked before the run with the key is returned or moved", async () => {
    await parked("v-1", { singleton: "k" });
    await app.start("flow", "first", { id: "v-2", debounce: { key: "d", wait: "1h" } });
    const asked: string[] = [];
    const mayJoin = (runId: string): void => {
      asked.push(runId);
      throw new Error("not yours");
    };
    const before = await app.get("v-2").entries();
    await expect(app.start("flow", "x", { singleton: "k", mayJoin })).rejects.toThrow("not yours");
    const start = app.start("flow", "x", { debounce: { key: "d", wait: "9h" }, mayJoin });
    await expect(start).rejects.toThrow("not yours");
    expect(asked).toEqual(["v-1", "v-2"]);
    expect(await app.get("v-2").entries()).toEqual(before);
    const own = await app.start("flow", "x", { id: "own", singleton: "free", mayJoin });
    await own.result().catch(() => {});
    expect(own.repeated).toBe(false);
  });

  test.each(["", "x".repeat(129), 5, "\ud800"])("scope %j is refused", async (scope) => {
    await expect(app.start("flow", "x", { scope: scope as string })).rejects.toMatchObject({
      code: "invalid-options",
    });
  });
});
