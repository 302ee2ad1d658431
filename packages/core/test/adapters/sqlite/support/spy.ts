/** Sees the connections that SqliteStorage opens, and lets a test reach into them. */

import { DatabaseSync, type StatementSync } from "node:sqlite";
import * as sqlite from "node:sqlite";
import { vi } from "vitest";

export interface DatabaseSpy {
  /** Every connection opened since, the newest last. */
  readonly opened: readonly DatabaseSync[];
  readonly last: DatabaseSync;
  restore(): void;
}

/** `exec` sees, and may change or refuse, every text before it is executed. */
export function spyOnDatabases(exec: (text: string) => string = (text) => text): DatabaseSpy {
  const opened: DatabaseSync[] = [];
  class Spied extends DatabaseSync {
    constructor(path: string) {
      super(path);
      opened.push(this);
    }
    override exec(text: string): void {
      super.exec(exec(text));
    }
    /** Transactions are begun and ended by prepared statements, which are seen when they run. */
    override prepare(text: string): StatementSync {
      const statement = super.prepare(text);
      if (text !== "COMMIT" && text !== "BEGIN IMMEDIATE") return statement;
      const run = statement.run.bind(statement);
      statement.run = () => {
        exec(text);
        return run();
      };
      return statement;
    }
  }
  const real = process.getBuiltinModule.bind(process);
  const spy = vi
    .spyOn(process, "getBuiltinModule")
    .mockImplementation((id: string) =>
      id === "node:sqlite" ? { ...sqlite, DatabaseSync: Spied } : real(id),
    );
  return {
    opened,
    get last() {
      const last = opened.at(-1);
      if (last === undefined) throw new Error("Nothing was opened.");
      return last;
    },
    restore: () => spy.mockRestore(),
  };
}

/** What SQLite throws, as node:sqlite shows it. */
export function sqliteError(errcode: number, message = `SQLite code ${errcode}`): Error {
  return Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
}
