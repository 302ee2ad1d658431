/** Storages on which cells are played. */

import { MemoryStorage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { putEmptyJournal } from "../support/sqlite-empty.ts";
import { memoryFolder, tempFolder } from "../support/sqlite-temp.ts";
import type { Open } from "./stage.ts";

export const onMemory: Open = (world) => {
  const storage = new MemoryStorage({ now: () => world.now(), timer: (ms, fire) => world.timer(ms, fire) });
  return { storage, another: storage, close: () => {} };
};

/** Two handles on one file, as two processes have them. */
export const onSqlite: Open = (world) => {
  const { path, remove } = tempFolder(memoryFolder);
  putEmptyJournal(path);
  const open = (): SqliteStorage => new SqliteStorage({ path, now: () => world.now() });
  const [storage, another] = [open(), open()];
  return {
    storage,
    another,
    close: async () => {
      await Promise.all([storage.close(), another.close()]);
      remove();
    },
  };
};
