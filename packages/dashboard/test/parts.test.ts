/** Large values in parts: what is put together from its parts is what was recorded. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import type { Plain } from "@durable/core/inspect";
import { expect, onTestFinished, test } from "vitest";
import type { StepDetail, ValueHits, ValuePart } from "../src/api.ts";
import { cutLarge, findWords, pageOfPart, partAt } from "../src/parts.ts";
import { Site } from "./support/ask.ts";
import { secret } from "./support/journals.ts";

/** Reads what is missing until nothing is. */
function whole(
  value: Plain,
  read: (path: string, offset: number) => ValuePart,
  path = "",
  cuts: Readonly<Record<string, { size: number }>> = {},
): Plain {
  if (typeof value === "string") {
    let text = value;
    while (text.length < (cuts[path]?.size ?? 0)) text += read(path, text.length).value as string;
    return text;
  }
  if (typeof value !== "object" || value === null) return value;
  const all = new Map<string, Plain>();
  const name = (key: string): string => `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  for (const [key, part] of Object.entries(value as Readonly<Record<string, Plain>>))
    all.set(key, whole(part, read, name(key), cuts));
  while (all.size < (cuts[path]?.size ?? 0)) {
    const page = read(path, all.size);
    const base = Array.isArray(value) ? page.offset : 0;
    for (const [key, part] of Object.entries(page.value as object)) {
      const real = Array.isArray(value) ? String(Number(key) + base) : key;
      all.set(real, whole(part as Plain, read, name(real), page.cuts));
    }
  }
  return Array.isArray(value) ? [...all.values()] : Object.fromEntries(all);
}

const large: Plain = {
  title: "measurements",
  "a/b~c": "z".repeat(30_000),
  rows: Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}` })),
  names: Object.fromEntries(Array.from({ length: 700 }, (_, i) => [`n${i}`, i])),
  text: `${"sand ".repeat(60_000)}needle`,
};

test("a small value is whole; a large one says what is missing, and its parts give all of it", () => {
  expect(cutLarge({ a: [1, "x"] })).toEqual({ value: { a: [1, "x"] }, cuts: {} });
  const { value, cuts } = cutLarge(large);
  expect(JSON.stringify(value).length).toBeLessThan(200_000);
  expect(cuts["/rows"]?.size).toBe(20_000);
  const read = (path: string, offset: number): ValuePart => {
    const part = pageOfPart(large, path, offset);
    if (part === undefined) throw new Error(`nothing at ${path}`);
    return part;
  };
  expect(whole(value, read, "", cuts)).toEqual(large);
  expect(pageOfPart(large, "/rows/99999", 0)).toBeUndefined();
  expect(partAt(large, "/a~1b~0c")).toBe("z".repeat(30_000));
  expect(partAt(large, "/constructor")).toBeUndefined();
});

test("words are found in names and in values, with a bound", () => {
  expect(findWords(large, "NEEDLE").hits).toMatchObject([{ path: "/text" }]);
  expect(findWords(large, "row 19999").hits).toEqual([{ path: "/rows/19999/name", text: "row 19999" }]);
  const many = findWords(large, "row");
  expect([many.hits.length, many.more]).toEqual([50, true]);
});

test("the server sends a part of a large value, finds words in it, and gives all of it as a file", async () => {
  const flow = durable("large", (ctx) => ctx.step("make", () => large));
  const app = createApp({ storage: new MemoryStorage(), workflows: [flow], secret, bind: false });
  onTestFinished(() => app.close());
  await app.run("large", undefined, { id: "one" });
  const site = new Site({ app });
  const detail = await site.fetch("/api/runs/one/step?key=make");
  const text = await detail.text();
  expect(text.length).toBeLessThan(250_000);
  expect((JSON.parse(text) as StepDetail).cuts?.["/rows"]?.size).toBe(20_000);
  const at = "runs/one/value?key=make&field=value";
  expect((await site.get<ValuePart>(`${at}&path=/rows&offset=19950`)).value).toHaveLength(50);
  expect((await site.get<ValueHits>(`${at}&find=needle`)).hits).toHaveLength(1);
  const file = await site.fetch(`/api/${at}&download=1`);
  expect(file.headers.get("content-disposition")).toContain("attachment");
  expect(await file.json()).toEqual(large);
  expect((await site.fetch(`/api/${at}&path=/nothing`)).status).toBe(400);
  expect((await site.fetch("/api/runs/one/value?key=make&field=prototype")).status).toBe(400);
});
