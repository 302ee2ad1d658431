import { DatabaseSync } from "node:sqlite";
import { storageConformance, storageFeatures, type Open } from "@durable/testing/conformance";
import { inject } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { putEmptyJournal } from "../../support/sqlite-empty.ts";
import { memoryFolder, tempFolder } from "../../support/sqlite-temp.ts";

// Batches and blobs are JSON, which writes NUL as an escape, and names refuse it: nothing that core writes is cut.
const nul = new DatabaseSync(":memory:").prepare("SELECT ? AS text").get("a\0b")?.["text"];
const reason = `node:sqlite of Node ${process.versions.node} cuts texts at NUL`;
const cut = [
  "read keeps a NUL character",
  "a NUL character in names is data (H65)",
  "a blob keeps a NUL character, in its name and its body",
];
const full = inject("full");
// A value of that size is written to a file by stream-limits.test.ts.
const large = { test: "a blob of 32 MiB, in bytes and in characters", reason: "in `npm run test:full`" };
const skip = [...(nul === "a\0b" ? [] : cut.map((test) => ({ test, reason }))), ...(full ? [] : [large])];

const openIn =
  (folder?: string): Open =>
  ({ now }) => {
    const { path, remove } = tempFolder(folder);
    if (!full) putEmptyJournal(path);
    const handles: SqliteStorage[] = [];
    const another = (): SqliteStorage => {
      const storage = new SqliteStorage({ path, now });
      handles.push(storage);
      return storage;
    };
    return Promise.resolve({
      storage: another(),
      reopen: () => Promise.resolve(another()),
      close: async () => {
        await Promise.all(handles.map((handle) => handle.close()));
        remove();
      },
    });
  };

// What is asked here has nothing to do with power cuts. On a disk in `npm run test:full`.
storageConformance("SqliteStorage", openIn(full ? undefined : memoryFolder), { skip });
storageFeatures("SqliteStorage", openIn(memoryFolder));
