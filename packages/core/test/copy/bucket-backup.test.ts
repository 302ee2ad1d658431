import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { copyRuns, type Storage } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { FolderBucket } from "@durable/core/folder";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { headOf } from "../adapters/sqlite/support/samples.ts";
import { memoryFolder, tempFolder } from "../support/sqlite-temp.ts";
import { contentOf, unordered } from "./support/houses.ts";
import { finish, moveIn, testWorld } from "./support/residents.ts";

const world = testWorld();

function folders(): { readonly live: string; readonly copy: string } {
  const { folder, remove } = tempFolder(memoryFolder);
  onTestFinished(remove);
  return { live: join(folder, "live"), copy: join(folder, "copy") };
}

function bucketAt(path: string): RemoteStorage {
  return new RemoteStorage(new FolderBucket(path, { sync: false }), { world });
}

test("a bucket is restored from its logs alone: the index is built again, and runs finish", async () => {
  const { live, copy } = folders();
  const residents = await moveIn(bucketAt(live), world);
  const content = unordered(await contentOf(bucketAt(live)));
  mkdirSync(copy);
  // Keys are folders and files, so this copies the objects `layout` and `runs/...`.
  for (const name of ["layout.txt", "runs"]) cpSync(join(live, name), join(copy, name), { recursive: true });
  rmSync(live, { recursive: true });
  const restored = bucketAt(copy);
  expect((await restored.list()).runs).toEqual([]);
  expect(await restored.rebuild()).toMatchObject({ runs: 12 });
  expect(unordered(await contentOf(restored))).toEqual(content);
  const { found, expected } = await finish(residents, restored, world);
  expect(found).toEqual(expected);
});

test("a bucket that is in use is backed up by copyRuns, run by run, and restored by it", async () => {
  const { live, copy } = folders();
  const residents = await moveIn(bucketAt(live), world);
  const file = new SqliteStorage({ path: `${copy}.db`, now: () => world.now() });
  onTestFinished(() => file.close());
  // Other runs begin and end meanwhile.
  const busy = bucketAt(live);
  let others = 0;
  const from: Storage = bucketAt(live);
  const summary = await copyRuns(from, file, {
    concurrency: 2,
    onProgress: ({ done }) => {
      if (done % 4 !== 1) return;
      others += 1;
      void busy.append({
        locator: `other${others}`,
        position: 0,
        batch: "other",
        head: headOf(`other${others}`, { status: "suspended", wakeAt: null }),
      });
    },
  });
  expect(summary).toMatchObject({ runs: 13, refused: [] });
  expect(others).toBeGreaterThan(2);
  rmSync(live, { recursive: true, force: true });
  const restored = bucketAt(copy);
  expect(await copyRuns(file, restored, { readBack: bucketAt(copy) })).toMatchObject({
    runs: 13,
    refused: [],
  });
  const { found, expected } = await finish(residents, bucketAt(copy), world);
  expect(found).toEqual(expected);
});
