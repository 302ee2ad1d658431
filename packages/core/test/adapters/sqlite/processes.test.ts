import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import type { RaceReport } from "./support/child-race.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { request } from "./support/samples.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

const names = ["ann", "bob", "cat", "dan"];
const shared = ["shared-one", "shared-two", "shared-three"];
let temp: TempFolder;
let storage: SqliteStorage;
let reports: RaceReport[];

describe("four processes that write to one file at once", () => {
  beforeAll(async () => {
    temp = tempFolder();
    storage = new SqliteStorage(temp.path);
    await Promise.all(Array.from({ length: 50 }, (_, n) => storage.append(request(`leased${n}`, 0))));
    const children = names.map((name) => new Child("sqlite-child-race.ts", [temp.path, name]));
    await Promise.all(children.map((child) => child.line("ready")));
    for (const child of children) child.send("go");
    reports = await Promise.all(
      children.map(async (child) => JSON.parse(await child.line("report")) as RaceReport),
    );
    await Promise.all(children.map((child) => child.done()));
  });
  afterAll(async () => {
    await killChildren();
    await storage.close();
    temp.remove();
  });

  it("keep their own runs whole", async () => {
    for (const name of names)
      for (const run of [`${name}-one`, `${name}-two`])
        expect((await storage.read(run)).batches).toEqual(
          Array.from({ length: 60 }, (_, position) => `${name} ${position}`),
        );
  });

  it("have one winner for every position of the runs they share", async () => {
    const winners = new Map(reports.flatMap(({ name, won }) => won.map((place) => [place, name] as const)));
    expect(winners.size, "no position was won twice").toBe(names.length * shared.length * 25);
    for (const run of shared) {
      const { batches, length } = await storage.read(run);
      expect(length).toBe(names.length * 25);
      expect(batches).toEqual(
        batches.map((_, position) => `${winners.get(`${run} ${position}`)} ${position}`),
      );
    }
  });

  it("really met", () => {
    expect(reports.reduce((sum, { conflicts }) => sum + conflicts, 0)).toBeGreaterThan(0);
  });

  it("have one owner for every lease", () => {
    const leased = reports.flatMap(({ leases }) => leases);
    expect(leased).toHaveLength(50);
    expect(new Set(leased).size).toBe(50);
  });

  it("leave a file that SQLite finds no fault with", async () => {
    expect((await storage.list({ limit: 200 })).runs).toHaveLength(50 + names.length * 2 + shared.length);
    const database = new DatabaseSync(temp.path);
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    database.close();
  });

  it("are gone, so that their leases are free at once", async () => {
    expect(await storage.lease("leased0", "eve", 1_000)).toMatchObject({ length: 1 });
    expect((await storage.list({ dueAt: Date.now(), limit: 200 })).runs.length).toBeGreaterThanOrEqual(49);
  });
});
