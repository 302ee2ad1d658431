import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, inject } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { migrate, schemaVersion, steps as all } from "../../../src/adapters/sqlite/schema.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { request } from "./support/samples.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;

beforeEach(() => {
  temp = tempFolder();
});
afterEach(async () => {
  await killChildren();
  temp.remove();
});

/** What the file itself says, read without our code. */
function inspect(): { version: number; tables: string[]; check: string } {
  const database = new DatabaseSync(temp.path);
  const first = (query: string): unknown => Object.values(database.prepare(query).get() ?? {})[0];
  const found = {
    version: Number(first("PRAGMA user_version")),
    tables: database
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .all()
      .map(({ name }) => String(name)),
    check: String(first("PRAGMA integrity_check")),
  };
  database.close();
  return found;
}

const whole = {
  version: schemaVersion,
  tables: [
    "batches",
    "blobs",
    "chapters",
    "limit_texts",
    "named",
    "paused_workflows",
    "readers",
    "runs",
    "schedules",
    "spent",
    "tags",
    "turns",
  ],
  check: "ok",
};

describe("first boot and migration (H56)", () => {
  const first = inject("full") ? 6 : 3;
  it(`${first} processes that open a new file at once make one schema`, async () => {
    const children = Array.from(
      { length: first },
      (_, n) => new Child("sqlite-child-boot.ts", [temp.path, `run${n}`]),
    );
    await Promise.all(children.map((child) => child.line("ready")));
    for (const child of children) child.send("go");
    await Promise.all(children.map((child) => child.done()));
    expect(inspect()).toEqual(whole);
    const storage = new SqliteStorage(temp.path);
    expect((await storage.list()).runs).toHaveLength(first);
    await storage.close();
  });

  const statements = all.join("\n").split(/(?<=;)\n\s*/).length;
  const every = inject("full") ? 1 : 30;
  it.each(Array.from({ length: Math.ceil((statements + 1) / every) }, (_, n) => [n * every]))(
    "a process killed before statement %i leaves the file as it was, for the next to migrate",
    async (stop) => {
      const child = new Child("sqlite-child-migrate.ts", [temp.path, String(stop)]);
      await child.line("stopped");
      expect(() => new SqliteStorage({ path: temp.path, busyTimeout: 0 })).toThrow(
        expect.objectContaining({ code: "storage-busy" }),
      );
      await child.kill();
      expect(inspect()).toMatchObject({ version: 0, tables: [] });
      const storage = new SqliteStorage(temp.path);
      await storage.append(request("one", 0));
      await storage.close();
      expect(inspect()).toEqual(whole);
    },
  );

  it("a step that fails changes nothing, and says what failed", async () => {
    const database = new DatabaseSync(temp.path);
    const steps = [...all, "CREATE TABLE more (x TEXT) STRICT; INSERT INTO nowhere VALUES (1)"];
    expect(() => migrate(database, temp.path, steps)).toThrow("nowhere");
    database.close();
    expect(inspect()).toMatchObject({ version: 0, tables: [] });
  });

  it("a next schema brings the file up to date with what it holds, and its index finds it", async () => {
    const storage = new SqliteStorage(temp.path);
    await storage.append(request("one", 0));
    await storage.close();
    const database = new DatabaseSync(temp.path);
    const steps = [
      ...all,
      "ALTER TABLE runs ADD COLUMN flavour TEXT; CREATE INDEX runs_by_flavour ON runs (flavour, id); UPDATE runs SET flavour = 'old'",
    ];
    migrate(database, temp.path, steps);
    migrate(database, temp.path, steps);
    const marked = "SELECT run_id FROM runs INDEXED BY runs_by_flavour WHERE flavour = 'old'";
    expect(database.prepare(marked).all()).toEqual([{ run_id: "one" }]);
    database.close();
    expect(inspect()).toMatchObject({ version: schemaVersion + 1, check: "ok" });
    expect(() => new SqliteStorage(temp.path)).toThrow(expect.objectContaining({ code: "newer-format" }));
  });

  it.each([0, 1, 2, 3])(
    "a file of schema %i, before the first release, is refused and not touched",
    (version) => {
      const database = new DatabaseSync(temp.path);
      database.exec(`CREATE TABLE runs (id INTEGER); PRAGMA application_id = 0x64757262;
      PRAGMA user_version = ${version}`);
      database.close();
      const before = readFileSync(temp.path);
      expect(() => new SqliteStorage(temp.path)).toThrow(
        expect.objectContaining({
          code: "pre-release",
          message: expect.stringContaining("Finish its runs with that version, or choose another path."),
        }),
      );
      expect(readFileSync(temp.path).equals(before)).toBe(true);
    },
  );

  it("a newer file is refused and not touched", async () => {
    const storage = new SqliteStorage(temp.path);
    await storage.append(request("one", 0));
    await storage.close();
    const database = new DatabaseSync(temp.path);
    database.exec(`PRAGMA user_version = ${schemaVersion + 1}`);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    const before = readFileSync(temp.path);
    expect(() => new SqliteStorage(temp.path)).toThrow(
      expect.objectContaining({
        code: "newer-format",
        message: expect.stringContaining("Upgrade @durable/core"),
      }),
    );
    expect(readFileSync(temp.path).equals(before)).toBe(true);
  });

  it("a file that another process is still opening is not torn from it", async () => {
    const first = new SqliteStorage(temp.path);
    for (let n = 0; n < 20; n++) {
      const next = new SqliteStorage(temp.path);
      await next.append(request(`run${n}`, 0));
      await next.close();
    }
    expect((await first.list()).runs).toHaveLength(20);
    await first.close();
  });
});
