/** Storages of every kind that belong to one test, and all that a storage has, as a value that can be compared. */

import { MemoryStorage, type RunHead, type Storage, type World } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { FolderBucket } from "@durable/core/folder";
import { SqliteStorage } from "@durable/core/sqlite";
import { onTestFinished } from "vitest";
import { memoryFolder, tempFolder } from "../../support/sqlite-temp.ts";

export type Kind = "memory" | "sqlite" | "folder";

/** An empty storage of this kind, and a way to open it again, as another process would. */
export function house(
  kind: Kind,
  world: World,
): { readonly storage: Storage; readonly reopen: () => Storage } {
  if (kind === "memory") {
    const storage = new MemoryStorage({ now: () => world.now() });
    return { storage, reopen: () => storage };
  }
  const temp = tempFolder(memoryFolder);
  const opened: Storage[] = [];
  onTestFinished(async () => {
    for (const storage of opened) await storage.close?.();
    temp.remove();
  });
  const reopen = (): Storage => {
    const storage =
      kind === "sqlite"
        ? new SqliteStorage({ path: temp.path, now: () => world.now() })
        : new RemoteStorage(new FolderBucket(temp.folder, { sync: false }), { world });
    opened.push(storage);
    return storage;
  };
  return { storage: reopen(), reopen };
}

export async function headsOf(storage: Storage): Promise<RunHead[]> {
  const heads: RunHead[] = [];
  for (let cursor: string | null = null; ;) {
    const page = await storage.list({ cursor, limit: 3 });
    // Whether a run is driven is not copied: the copy has no driver.
    for (const listed of page.runs) {
      const { driven: _, ...head } = listed;
      heads.push(head);
    }
    if (page.next === null) return heads;
    cursor = page.next;
  }
}

/** Every list entry, and every reply to a read from the first batch and from each of these positions. */
export async function contentOf(
  storage: Storage,
  hidden: readonly string[] = [],
  positions: (locator: string) => readonly number[] = () => [],
): Promise<unknown> {
  const heads = await headsOf(storage);
  const journals: Record<string, unknown> = {};
  for (const locator of [...heads.map((head) => head.locator), ...hidden].toSorted())
    for (const from of [0, ...positions(locator)])
      journals[`${locator} ${from}`] = normal(await storage.read(locator, from));
  return { heads: heads.map(normal), journals };
}

/** Object stores list runs by the time of their creation, so runs of one moment may change places. */
export function unordered(content: unknown): unknown {
  const { heads, ...rest } = content as { heads: { locator: string }[] };
  return { ...rest, heads: heads.toSorted((a, b) => (a.locator < b.locator ? -1 : 1)) };
}

function normal(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const fields = Object.entries(value).filter(
    ([name, field]) => field !== undefined && !(name === "deleted" && field === false),
  );
  return Object.fromEntries(
    fields
      .map(([name, field]) => [name, normal(field)])
      .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  );
}
