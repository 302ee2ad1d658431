/**
 * The least that a journal in SQLite can do: one commit per step of one journal row and one head row, WAL and FULL.
 * A resume reads and parses all rows. Nothing is checked, nothing is leased.
 */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SubjectModule } from "../engine.ts";
import { entryText } from "./floor-entry.ts";

export const open: SubjectModule["open"] = async ({ folder }, marks) => {
  const database = new DatabaseSync(join(folder, "floor.db"));
  database.exec(`PRAGMA journal_mode = wal; PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS heads (run TEXT PRIMARY KEY, length INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS journal (run TEXT, position INTEGER, body TEXT NOT NULL,
      PRIMARY KEY (run, position)) STRICT, WITHOUT ROWID`);
  const create = database.prepare("INSERT INTO heads (run, length) VALUES (?, 0)");
  const head = database.prepare("UPDATE heads SET length = ? WHERE run = ?");
  const insert = database.prepare("INSERT INTO journal (run, position, body) VALUES (?, ?, ?)");
  const select = database.prepare("SELECT body FROM journal WHERE run = ? ORDER BY position");
  const commit = (work: () => void): void => {
    database.exec("BEGIN IMMEDIATE");
    work();
    database.exec("COMMIT");
  };
  const step = (id: string, i: number): void => {
    head.run(i + 1, id);
    insert.run(id, i, entryText(i));
  };
  const write = (id: string, steps: number, parallel = false): void => {
    create.run(id);
    marks.begin();
    if (parallel) {
      commit(() => {
        for (let i = 0; i < steps; i++) step(id, i);
      });
    } else for (let i = 0; i < steps; i++) commit(() => step(id, i));
    marks.end();
  };
  return {
    run: async ({ id, steps, parallel }) => write(id, steps, parallel),
    wait: async ({ id, steps }) => {
      write(id, steps);
      return id;
    },
    answer: async (id) => {
      commit(() => step(id, 1_000_000));
      for (const { body } of select.all(id)) JSON.parse(String(body));
      marks.body();
    },
    close: async () => database.close(),
  };
};
