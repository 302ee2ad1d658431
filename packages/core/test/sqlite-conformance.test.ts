import { storageConformance } from "@durable/testing/conformance";
import { SqliteStorage } from "../src/sqlite/index.ts";
import { tempFolder } from "./support/sqlite-temp.ts";

storageConformance("SqliteStorage", ({ now }) => {
  const { path, remove } = tempFolder();
  const handles: SqliteStorage[] = [];
  const open = (): SqliteStorage => {
    const storage = new SqliteStorage({ path, now });
    handles.push(storage);
    return storage;
  };
  return Promise.resolve({
    storage: open(),
    reopen: () => Promise.resolve(open()),
    close: async () => {
      await Promise.all(handles.map((handle) => handle.close()));
      remove();
    },
  });
});
