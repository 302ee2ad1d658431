import { bucketConformance, remoteConformance, type OpenBucket } from "@durable/testing/conformance";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { IndexedDBBucket } from "../../../src/adapters/indexeddb/index.ts";
import { skipReason, type Page } from "../../../../dashboard/test/support/chromium.ts";
import { bucketIn, BucketPages } from "./support/page.ts";

describe.skipIf(skipReason !== null)("in Chromium", () => {
  let pages: BucketPages;
  let page: Page;

  beforeAll(async () => {
    pages = await BucketPages.open();
    page = await pages.page();
  });
  afterAll(() => pages?.close());

  const open: OpenBucket = () => Promise.resolve(pages.handle(page));
  const sample = inject("full") ? 4 : 70;
  bucketConformance("IndexedDBBucket", open, { brief: !inject("full") });
  remoteConformance("IndexedDBBucket", open, { brief: true, sample });
  remoteConformance("IndexedDBBucket", open, { brief: true, sample, faults: "all" });

  test("two tabs share a bucket, and exactly one of them creates a key", async () => {
    const name = pages.name();
    const other = await pages.page(page);
    const tabs = [bucketIn(page, name), bucketIn(other, name)];
    for (let round = 0; round < 10; round++) {
      const tries = Array.from({ length: 8 }, (_, n) => tabs[n % 2]!.create(`race/${round}`, `${n}`));
      const won = await Promise.all(tries);
      expect(won.filter(Boolean)).toHaveLength(1);
      for (const tab of tabs) expect(await tab.get(`race/${round}`)).toBe(String(won.indexOf(true)));
    }
    await other.close();
  });

  test("objects are there after a reload, and after the tab was killed", async () => {
    const name = pages.name();
    const first = await pages.page(page);
    await bucketIn(first, name).create("a", "text");
    await first.close();
    const second = await pages.page(page);
    expect(await bucketIn(second, name).get("a")).toBe("text");
    expect(await bucketIn(second, name).create("a", "other")).toBe(false);
    await second.close();
  });

  test("another tab can delete the database, and the bucket is then empty and usable", async () => {
    const name = pages.name();
    const bucket = bucketIn(page, name);
    await bucket.put("a", "text");
    const other = await pages.page(page);
    const said = await other.evaluate(
      (name) =>
        new Promise<string>((resolve) => {
          const request = indexedDB.deleteDatabase(name);
          request.addEventListener("success", () => resolve("deleted"));
          request.addEventListener("blocked", () => resolve("blocked"));
        }),
      name,
    );
    expect(said).toBe("deleted");
    expect(await bucket.get("a")).toBeNull();
    expect(await bucket.create("a", "again")).toBe(true);
    await other.close();
  });

  test("a closed bucket opens again at its next request", async () => {
    const bucket = bucketIn(page, pages.name());
    await bucket.put("a", "text");
    await bucket.close();
    expect(await bucket.get("a")).toBe("text");
    await bucket.close();
    await bucket.close();
    expect(await bucket.create("b", "text")).toBe(true);
  });

  test("a write beyond the quota is storage-full, and what was there stays", async () => {
    const tab = await pages.page();
    const bucket = bucketIn(tab, pages.name());
    const session = await tab.context().newCDPSession(tab);
    await session.send("Storage.overrideQuotaForOrigin", {
      origin: new URL(tab.url()).origin,
      quotaSize: 100_000,
    });
    await bucket.put("a", "small");
    await expect(bucket.put("b", "x".repeat(2 ** 20))).rejects.toMatchObject({
      code: "storage-full",
      message: expect.stringMatching(/IndexedDB database "bucket-\d+".*Purge old runs/) as string,
    });
    expect(await bucket.get("a")).toBe("small");
    expect(await bucket.get("b")).toBeNull();
    await tab.context().close();
  });

  test("a database of something else is refused, and left as it is", async () => {
    const name = pages.name();
    await page.evaluate(
      (name) =>
        new Promise<void>((resolve) => {
          const request = indexedDB.open(name, 2);
          request.addEventListener("upgradeneeded", () => request.result.createObjectStore("mine"));
          request.addEventListener("success", () => {
            request.result.close();
            resolve();
          });
        }),
      name,
    );
    await expect(bucketIn(page, name).get("a")).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("Use a name of its own") as string,
    });
  });
});

test("without IndexedDB each request says so", async () => {
  await expect(new IndexedDBBucket("runs").get("a")).rejects.toMatchObject({
    code: "storage-failed",
    message: expect.stringContaining("this platform has no IndexedDB") as string,
  });
});
