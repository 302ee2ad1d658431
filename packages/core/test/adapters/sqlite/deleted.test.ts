/** The journal file is deleted, moved or replaced while a process has it open. On Windows an open file stays. */

import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { virtualWorld } from "@durable/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createApp, createWorker, durable, DurableError } from "../../../src/index.ts";
import { systemWorld } from "../../../src/storage.ts";
import { FileIdentity } from "../../../src/adapters/sqlite/identity.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { request } from "./support/samples.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;
let folder: string;
let path: string;
const opened: SqliteStorage[] = [];

beforeEach(() => {
  temp = tempFolder();
  folder = join(temp.folder, ".durable");
  path = join(folder, "journal.db");
});
afterEach(async () => {
  await killChildren();
  for (const storage of opened.splice(0)) await storage.close();
  temp.remove();
});

function open(at = path): SqliteStorage {
  const storage = new SqliteStorage(at);
  opened.push(storage);
  return storage;
}

function drop(): void {
  rmSync(folder, { recursive: true });
}

/** Puts another journal file, with a run of its own, in the place of the one that is open. */
async function replace(): Promise<void> {
  const other = join(temp.folder, "other.db");
  const storage = open(other);
  await storage.append(request("other", 0));
  await storage.close();
  for (const name of readdirSync(folder)) if (name !== "journal.db") rmSync(join(folder, name));
  renameSync(other, path);
}

const regressed = { code: "journal-regressed" };
const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(process.platform === "win32")("H20 a journal file that is gone under a live process", () => {
  it.each<[string, () => void | Promise<void>]>([
    ["its folder was deleted", drop],
    ["it was deleted", () => rmSync(path)],
    ["it was moved", () => renameSync(path, `${path}.old`)],
    ["it was replaced", replace],
    [
      "it was deleted, and a copy is in its place",
      () => (copyFileSync(path, `${path}.copy`), renameSync(`${path}.copy`, path)),
    ],
  ])("acknowledges nothing: %s", async (_, damage) => {
    const storage = open();
    await storage.append(request("one", 0));
    await damage();
    await expect(storage.append(request("one", 1))).rejects.toMatchObject(regressed);
    await expect(storage.append(request("two", 0))).rejects.toMatchObject(regressed);
    await expect(storage.lease("one", "a", 1_000)).rejects.toMatchObject(regressed);
    await expect(storage.delete("one")).rejects.toMatchObject(regressed);
    // A driver settles an unknown outcome by reading, and must not find what it wrote nowhere.
    await expect(storage.read("one")).rejects.toMatchObject(regressed);
    await expect(storage.list()).rejects.toMatchObject(regressed);
    await expect(storage.secret()).rejects.toMatchObject(regressed);
    expect(existsSync(join(folder, "secret"))).toBe(false);
    expect(existsSync(join(folder, ".durable"))).toBe(false);
  });

  it("says which file, what happened and what to do", async () => {
    const storage = open();
    drop();
    const error: unknown = await storage.append(request("one", 0)).catch((thrown: unknown) => thrown);
    expect((error as Error).message).toBe(
      `The journal file "${path}" was deleted, moved or replaced while this process had it open, so nothing more is recorded. Restore the file if you need its runs, then restart this process.`,
    );
  });

  it("is noticed by a process that only reads, within about a second", async () => {
    const storage = open();
    await storage.append(request("one", 0));
    await storage.read("one");
    drop();
    await later(1_100);
    await expect(storage.read("one")).rejects.toMatchObject(regressed);
  });

  it("releases a caller that waits for a journal to grow", async () => {
    const storage = open();
    await storage.append(request("one", 0));
    const waiting = storage.changed("one", 1, new AbortController().signal);
    drop();
    await waiting;
    await expect(storage.read("one")).rejects.toMatchObject(regressed);
  });

  it("leaves the file in its place alone, also when it is closed", async () => {
    const storage = open();
    await storage.append(request("one", 0));
    await replace();
    const other = open();
    await other.append(request("other", 1));
    await expect(storage.append(request("one", 1))).rejects.toMatchObject(regressed);
    await storage.close();
    await other.append(request("other", 2));
    await other.close();
    expect(await open().read("other")).toMatchObject({ batches: ["other 0", "other 1", "other 2"] });
  });

  it("is over when the same file is put back", async () => {
    const storage = open();
    await storage.append(request("one", 0));
    renameSync(path, `${path}.old`);
    await expect(storage.append(request("one", 1))).rejects.toMatchObject(regressed);
    renameSync(`${path}.old`, path);
    // The refused write is in the file; its caller finds that out by reading.
    expect(await storage.read("one")).toMatchObject({ length: 2 });
    await storage.append(request("one", 2));
  });

  it("blocks a run at its next record, and starts no other", async () => {
    const storage = open();
    const world = virtualWorld({ start: Date.now() });
    const bodies: string[] = [];
    const flow = durable(
      "steps",
      async (ctx) => {
        for (const name of ["one", "two", "three"])
          await ctx.step(name, () => {
            bodies.push(name);
            if (name === "two") drop();
          });
        return "done";
      },
      { storage, world },
    );
    const started = world.now();
    const outcome = await world.run(flow.run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({ status: "blocked", error: regressed });
    expect(bodies, "the third step never began").toEqual(["one", "two"]);
    await expect(world.run(flow.run(undefined, { id: "r2" }))).rejects.toMatchObject(regressed);
    await expect(world.run(flow.get("r").outcome())).rejects.toMatchObject(regressed);
    expect(world.now() - started, "retrying cannot help").toBeLessThan(5_000);
  });

  it("is reported once by a worker, which takes nothing more", async () => {
    const storage = open();
    const warnings: string[] = [];
    const world = { ...systemWorld, warn: (text: string) => void warnings.push(text) };
    const flow = durable("idle", (ctx) => ctx.step("work", () => 1));
    const app = createApp({ storage, world, workflows: [flow] });
    const worker = createWorker(app, { interval: 20 });
    drop();
    while (warnings.length === 0) await later(20);
    await later(500);
    await expect(app.start("idle", undefined, { id: "r" })).rejects.toMatchObject(regressed);
    await worker.stop();
    expect(warnings).toEqual([
      expect.stringMatching(/cannot read its storage.*was deleted, moved or replaced/),
    ]);
  });

  it("ends the run of a process that keeps running", async () => {
    mkdirSync(folder);
    const child = new Child("sqlite-child-deleted.ts", [folder]);
    await child.line("recorded 5");
    drop();
    const lines = await child.done();
    const last = lines.filter((line) => line.startsWith("recorded")).length;
    expect(last, "far from its end").toBeLessThan(200);
    expect(lines.filter((line) => !line.startsWith("recorded") && !line.startsWith("says"))).toEqual([
      "ended blocked journal-regressed",
      "new run journal-regressed",
      "read journal-regressed",
      "timers 0",
      "closed",
    ]);
    expect(existsSync(folder), "nothing was created in its place").toBe(false);
  });
});

describe("the identity of a file", () => {
  type Found = { dev: number; ino: number } | undefined;
  function identityOf(...found: (Found | Error)[]): FileIdentity {
    let calls = 0;
    return new FileIdentity("/tmp/journal.db", () => {
      const next = found[Math.min(calls++, found.length - 1)];
      if (next instanceof Error) throw next;
      return next;
    });
  }

  it.each<[string, (Found | Error)[], boolean]>([
    [
      "the same",
      [
        { dev: 1, ino: 2 },
        { dev: 1, ino: 2 },
      ],
      true,
    ],
    [
      "another number",
      [
        { dev: 1, ino: 2 },
        { dev: 1, ino: 3 },
      ],
      false,
    ],
    [
      "another disk",
      [
        { dev: 1, ino: 2 },
        { dev: 2, ino: 2 },
      ],
      false,
    ],
    ["missing", [{ dev: 1, ino: 2 }, undefined], false],
    ["missing from the start", [undefined], false],
    [
      "a file system without numbers",
      [
        { dev: 1, ino: 0 },
        { dev: 1, ino: 0 },
      ],
      true,
    ],
    ["a file system without numbers, file missing", [{ dev: 1, ino: 0 }, undefined], false],
    ["a folder that may not be read any more", [{ dev: 1, ino: 2 }, new Error("EACCES")], true],
  ])("%s", (_, found, same) => {
    const identity = identityOf(...found);
    if (same) expect(() => identity.check()).not.toThrow();
    else expect(() => identity.check()).toThrow(DurableError);
  });

  it("is not asked of a database in memory", () => {
    const never = (): never => {
      throw new Error("asked");
    };
    expect(() => new FileIdentity(":memory:", never).check()).not.toThrow();
  });

  it("is asked rarely by reads, and each time once it was wrong", () => {
    let calls = 0;
    let ino = 2;
    const identity = new FileIdentity(join(dirname("/tmp/x"), "journal.db"), () => ({
      dev: 1,
      ino: (calls++, ino),
    }));
    identity.check();
    for (let n = 0; n < 1_000; n++) identity.checkSometimes();
    expect(calls, "at the start, by the check, and by the first read").toBe(3);
    ino = 3;
    expect(() => identity.check()).toThrow(DurableError);
    expect(() => identity.checkSometimes()).toThrow(DurableError);
    ino = 2;
    identity.checkSometimes();
    for (let n = 0; n < 1_000; n++) identity.checkSometimes();
    expect(calls).toBe(6);
  });
});
