import { spawnSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { thisProcess } from "../../../src/adapters/sqlite/process.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";
import { headOf, request } from "./support/samples.ts";

const workflow = ["sample"];
const never = (): AbortSignal => new AbortController().signal;
let temp: TempFolder;
let storage: SqliteStorage;

beforeEach(() => {
  temp = tempFolder();
  storage = new SqliteStorage(temp.path);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await storage.close();
  temp.remove();
});

const claim = (quietMs = 60_000) => storage.claim({ workflow, dueAt: Date.now(), limit: 10, quietMs });

/** A run that a process of this host drove until it died, after it had claimed it. */
async function orphan(locator: string, leaseIsOver = false): Promise<void> {
  await storage.append(request(locator, 0));
  expect(await claim()).toHaveLength(1);
  await storage.lease(locator, "worker", 60_000);
  const { pid } = spawnSync(process.execPath, ["--version"]);
  const other = new DatabaseSync(temp.path);
  const [boot, space] = thisProcess.split("|");
  other.prepare("UPDATE runs SET process = ?").run(`${boot}|${space}|${pid}|1`);
  if (leaseIsOver) other.exec("UPDATE runs SET lease_until = 1, quiet_until = 0");
  other.close();
}

describe("a run whose driver died soon after its claim", () => {
  it("can be claimed at once, by one worker", async () => {
    await orphan("one");
    expect((await storage.list({ dueAt: Date.now(), workflow })).runs).toHaveLength(1);
    expect(await claim()).toEqual([headOf("one")]);
    expect(await claim(), "it is kept from others again").toEqual([]);
    expect(await storage.lease("one", "next", 60_000), "the lost start counts").toMatchObject({ starts: 2 });
  });

  it("can be claimed by one worker after its lease, too", async () => {
    await orphan("one", true);
    expect(await claim()).toEqual([headOf("one")]);
    expect(await claim(), "it is kept from others again").toEqual([]);
    expect(await storage.lease("one", "next", 60_000)).toMatchObject({ starts: 2, tookOver: true });
  });

  it("is announced, although its death changes no file", async () => {
    await orphan("one");
    await storage.whenDue(workflow, never());
    expect(await claim()).toHaveLength(1);
  });
});

describe("an idle worker", () => {
  it("takes no lock of the file, and commits nothing", async () => {
    await storage.append(request("one", 0));
    await claim();
    const { commits } = storage;
    const writer = new DatabaseSync(temp.path);
    writer.exec("BEGIN IMMEDIATE");
    expect(await claim()).toEqual([]);
    writer.exec("ROLLBACK");
    writer.close();
    expect(storage.commits).toBe(commits);
  });

  it("leaves no timer behind", async () => {
    const begun = vi.spyOn(globalThis, "setInterval");
    const ended = vi.spyOn(globalThis, "clearInterval");
    const running = (): number => begun.mock.calls.length - ended.mock.calls.length;
    const abort = new AbortController();
    const waits = Array.from({ length: 20 }, () => storage.whenDue(workflow, abort.signal));
    expect(running(), "one for all of them").toBe(1);
    abort.abort();
    await Promise.all(waits);
    expect(running()).toBe(0);
    const wait = storage.whenDue(workflow, never());
    await storage.append(request("one", 0));
    await wait;
    expect(running()).toBe(0);
  });

  it("is let go, and nothing is thrown, when the file breaks meanwhile", async () => {
    const wait = storage.whenDue(workflow, never());
    const other = new DatabaseSync(temp.path);
    other.exec("DROP TABLE runs");
    other.close();
    await wait;
    await expect(claim()).rejects.toMatchObject({ code: "storage-failed" });
  });
});
