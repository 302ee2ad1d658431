/** A search for a text that very many runs have looks at a bounded number of them, and says when it stopped. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import type { ListPage, ListQuery } from "../../../src/ports/storage.ts";
import { memoryFolder, tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";
import { headOf } from "./support/samples.ts";

const old = 10_100;
const all = old + 10_400;
const nameOf = (n: number): string => `run-${String(n).padStart(6, "0")}`;

let temp: TempFolder;
let storage: SqliteStorage;
beforeAll(async () => {
  temp = tempFolder(memoryFolder);
  storage = new SqliteStorage(temp.path);
  const made = Array.from({ length: all }, (_, n) => {
    const changes = { label: n < old ? "old one" : null, tags: n % 5_000 === 0 ? { who: "seldom" } : {} };
    return { locator: nameOf(n), position: 0, batch: "[]", head: headOf(nameOf(n), changes) };
  });
  for (let from = 0; from < all; from += 2_000)
    await Promise.all(made.slice(from, from + 2_000).map((request) => storage.append(request)));
}, 60_000);
afterAll(async () => {
  await storage.close();
  temp.remove();
});

const idsOf = ({ runs }: ListPage): string[] => runs.map(({ runId }) => runId);
const newest = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, i) => nameOf(from - i));

/** Every page of a list, at most `most`. */
async function pagesOf(query: ListQuery, most = 100): Promise<ListPage[]> {
  const pages: ListPage[] = [];
  for (let cursor: string | null | undefined; cursor !== null && pages.length < most;) {
    const page = await storage.list({ ...query, cursor });
    pages.push(page);
    cursor = page.next;
  }
  return pages;
}

test("a text that all runs have: each page is full, in order, and not partial", async () => {
  const pages = await pagesOf({ q: "run-", limit: 30 }, 4);
  expect(pages.flatMap(idsOf)).toEqual(newest(all - 1, 120));
  expect(pages.map(({ partial }) => partial)).toEqual([undefined, undefined, undefined, undefined]);
});

test("a text that only old runs have, but many: a page stops, says so, and the next goes on", async () => {
  const [first, second, third] = await pagesOf({ q: "old", limit: 200 }, 3);
  expect([idsOf(first!), first?.partial, first?.next]).toEqual([[], true, expect.any(String)]);
  expect(idsOf(second!)).toEqual(newest(old - 1, 200));
  expect([second?.partial, idsOf(third!)]).toEqual([undefined, newest(old - 201, 200)]);
});

test("pages of such a text have every run once, and the last one has no next", async () => {
  const pages = await pagesOf({ q: "old", limit: 1_000 });
  expect(pages.flatMap(idsOf)).toEqual(newest(old - 1, old));
  expect(pages.filter(({ partial }) => partial).length).toBe(1);
});

test("a text that few runs have is found at once, wherever they are", async () => {
  const page = await storage.list({ q: "seldom", limit: 10 });
  expect(page).not.toHaveProperty("partial");
  expect([idsOf(page), page.next]).toEqual([[20_000, 15_000, 10_000, 5_000, 0].map(nameOf), null]);
  expect(idsOf(await storage.list({ q: nameOf(3) }))).toEqual([nameOf(3)]);
});

test("other filters hold beside such a text", async () => {
  const query = { q: "run-", limit: 5 } as const;
  expect(idsOf(await storage.list({ ...query, tags: { who: "seldom" } }))).toEqual(
    [20_000, 15_000, 10_000, 5_000, 0].map(nameOf),
  );
  expect(await storage.list({ ...query, workflow: ["other", "none"] })).toEqual({ runs: [], next: null });
  expect(idsOf(await storage.list({ ...query, workflow: ["sample", "none"], limit: 2 }))).toEqual(
    newest(all - 1, 2),
  );
  await expect(storage.list({ ...query, cursor: "no cursor" })).rejects.toMatchObject({
    code: "invalid-options",
  });
});
