import { Journal } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterEach, describe, expect, inject, test } from "vitest";
import { drained } from "./support/lab.ts";
import { Child, killChildren } from "../support/child-process.ts";
import { isDense, range, sqliteLab, type ChunksEntry } from "../support/stream-lab.ts";

const full = inject("full");
afterEach(killChildren);

describe("processes that share a journal on SQLite", () => {
  test("see one value for each key, whoever ran it", async () => {
    const { path } = sqliteLab();
    const children = (full ? ["a", "b", "c"] : ["a", "b"]).map(
      (name) => new Child("direct-child.ts", [path, "j", name, "calls", "40"]),
    );
    await Promise.all(children.map((child) => child.line("up")));
    for (const child of children) child.send("go");
    const said = await Promise.all(children.map((child) => child.done()));
    const saw = said.map((lines) => lines.filter((line) => line.startsWith("saw ")));
    expect(saw[0]).toHaveLength(40);
    for (const other of saw) expect(other).toEqual(saw[0]);
    expect(said.flat().filter((line) => line.startsWith("failed"))).toEqual([]);
    const storage = new SqliteStorage(path);
    const journal = await Journal.open("j", { storage });
    expect(journal.entries().filter(({ kind }) => kind === "step.completed")).toHaveLength(40);
    await storage.close();
  });

  test("H47 one that is killed while it records a stream leaves a prefix; the next records anew", async () => {
    const { path } = sqliteLab();
    const storage = new SqliteStorage(path);
    for (const [n, kill] of (full ? [1, 60, 130] : [60]).entries()) {
      const life = `life${n}`;
      const child = new Child("direct-child.ts", [path, "j", life, "stream", "400"]);
      await child.line("up");
      child.send("go");
      await child.line(`chunk ${kill}`);
      await child.kill();
      const journal = await Journal.open("j", { storage });
      expect(journal.has("words"), "there is no end").toBe(false);
      const parts = journal.entries().filter(({ kind }) => kind === "stream.chunks") as ChunksEntry[];
      expect(isDense(parts)).toBe(true);
      const own = parts.flatMap(({ chunks }) => chunks).filter((chunk) => String(chunk).endsWith(life));
      expect(own, "a prefix").toEqual(range(own.length).map((i) => `${i} by ${life}`));
    }
    const before = (await Journal.open("j", { storage }))
      .entries()
      .map((entry) => ("attempt" in entry ? entry.attempt : 0));
    const last = new Child("direct-child.ts", [path, "j", "last", "stream", "100"]);
    await last.line("up");
    last.send("go");
    expect(await last.line("attempt "), "a number that nobody had").toBe(String(Math.max(...before) + 1));
    const seen = JSON.parse(await last.line("stream ")) as string[];
    await last.done();
    expect(seen).toEqual(range(100).map((n) => `${n} by last`));
    const journal = await Journal.open("j", { storage });
    expect(await drained(journal.recordStream("words", () => []))).toEqual(seen);
    await storage.close();
  });
});
