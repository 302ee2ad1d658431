import { rmSync } from "node:fs";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bucketConformance, remoteConformance, type OpenBucket } from "@durable/testing/conformance";
import { describe, expect, inject, test } from "vitest";
import { FolderBucket } from "../../../src/adapters/folder/index.ts";

const open: OpenBucket = async () => {
  const path = await mkdtemp(join(tmpdir(), "durable-folder-"));
  return {
    // What is asked here has nothing to do with power cuts, and takes a tenth of the time.
    bucket: new FolderBucket(path, { sync: false }),
    close: () => Promise.resolve(rmSync(path, { recursive: true, force: true, maxRetries: 5 })),
  };
};

// Whole in `npm run soak:remote -- --conformance`.
const brief = process.env["DURABLE_SOAK"] === undefined;
const sample = inject("full") ? 1 : 14;
bucketConformance("FolderBucket", open, { brief });
remoteConformance("FolderBucket", open, { brief, sample });
remoteConformance("FolderBucket", open, { brief, sample, faults: "all" });

describe("FolderBucket", () => {
  test("H65 no key leads out of its folder, and no two share a file", async () => {
    const handle = await open();
    const { bucket } = handle;
    const keys = ["..x/y..", "...", "a", "a.txt", "a.txt/b", "a/b", "%2E", "con", "a b", "a\\b", "*?<>|:"];
    for (const key of keys) expect(await bucket.create(key, key), key).toBe(true);
    for (const key of keys) expect(await bucket.get(key)).toBe(key);
    expect((await bucket.list({ prefix: "" })).keys).toEqual(keys.toSorted((a, b) => (a < b ? -1 : 1)));
    await handle.close();
  });

  test("a key with dot segments or an empty name reaches no other file, and is refused", async () => {
    const handle = await open();
    const { bucket } = handle;
    const refused = { code: "invalid-name" };
    await bucket.create("a", "text");
    for (const key of ["", "/", "a/", "/a", "a//b", ".", "..", "../x", "a/../../x", "a/.", "./a"]) {
      await expect(bucket.create(key, "forged"), key).rejects.toMatchObject(refused);
      await expect(bucket.put(key, "forged"), key).rejects.toMatchObject(refused);
      await expect(bucket.get(key), key).rejects.toMatchObject(refused);
      await expect(bucket.delete([key]), key).rejects.toMatchObject(refused);
    }
    for (const prefix of ["../", "a//", "/"])
      await expect(bucket.list({ prefix }), prefix).rejects.toMatchObject(refused);
    expect((await bucket.list({ prefix: "" })).keys).toEqual(["a"]);
    expect(await bucket.get("a")).toBe("text");
    await handle.close();
  });

  test("a write that was interrupted is no object, and leaves nothing behind when it was not", async () => {
    const handle = await open();
    const { bucket } = handle;
    const { path } = bucket as FolderBucket;
    await bucket.create("a/b", "text");
    await bucket.put("a/b", "another");
    expect(await bucket.create("a/b", "text")).toBe(false);
    expect(await readdir(join(path, "a"))).toEqual(["b.txt"]);
    await writeFile(join(path, "a", ".writing-1"), "half");
    expect((await bucket.list({ prefix: "a/" })).keys).toEqual(["a/b"]);
    await handle.close();
  });

  test("what the file system refuses has a name", async () => {
    const handle = await open();
    const { bucket } = handle;
    const { path } = bucket as FolderBucket;
    await mkdir(join(path, "a.txt"));
    await expect(bucket.get("a")).rejects.toMatchObject({ code: "storage-failed" });
    await writeFile(join(path, "file"), "");
    await expect(bucket.create("file/x", "")).rejects.toThrow(path);
    await handle.close();
  });
});
