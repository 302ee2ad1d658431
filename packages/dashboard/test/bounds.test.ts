/** What one request and one visitor can use up. The table is in docs/security.md. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { expect, onTestFinished, test } from "vitest";
import { createDashboard, exportRun } from "../src/index.ts";
import type { EntryPage, RunPage, StepDetail } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { secret } from "./support/journals.ts";

const MiB = 1024 * 1024;
const many = Array.from({ length: 100 }, () => "x".repeat(10_000));
const shared = { text: "y".repeat(100_000) };

const flow = durable("large", async (ctx) => {
  for (let n = 0; n < 20; n++) await ctx.step(`many-${n}`, () => many);
  await ctx.step("shared", () => Array.from({ length: 5_000 }, () => shared));
  await ctx.step("small", () => ({ a: 1 }));
  return Array.from({ length: 5_000 }, () => shared);
});

async function recorded(): Promise<Site> {
  const app = createApp({ storage: new MemoryStorage(), workflows: [flow], secret, bind: false });
  onTestFinished(() => app.close());
  await app.run("large", undefined, { id: "big" });
  return new Site({ app });
}

const bodyOf = async (site: Site, path: string): Promise<string> =>
  (await site.fetch(`/api/runs/big${path}`)).text();
const note = "[too large for this page; `durable show --json` has it]";

test("no answer about a run has more than its room, and what does not fit is named", async () => {
  const site = await recorded();
  for (const path of ["", "/journal?limit=500", "/step?key=shared", "/step?key=many-1"])
    expect((await bodyOf(site, path)).length, path).toBeLessThan(9 * MiB);
  expect((await site.get<RunPage>("runs/big")).output).toBe(note);
  expect((await site.get<StepDetail>("runs/big/step?key=shared")).value).toBe(note);
  const { value, cuts } = await site.get<StepDetail>("runs/big/step?key=many-1");
  expect(value).toEqual(many.slice(0, 40).map((text) => text.slice(0, 1_000)));
  expect(cuts?.[""]).toEqual({ kept: 40, size: 100 });
  expect(await (await site.fetch("/api/runs/big/value?key=many-1&field=value&download=1")).json()).toEqual(
    many,
  );
  // A value whose parts repeat is not written out without a bound.
  expect((await bodyOf(site, "/value?key=shared&field=value&download=1")).length).toBeLessThan(33 * MiB);
  const { entries, total } = await site.get<EntryPage>("runs/big/journal?limit=500");
  // Every entry has its row, and the last ones are small enough.
  expect([entries.length, total]).toEqual([total, total]);
  const rests = entries.map(({ rest }) => rest);
  expect(rests.filter((rest) => rest === note).length).toBeGreaterThan(10);
  expect(rests.at(-2)).toMatchObject({ value: { a: 1 } });
  const diff = await site.fetch("/api/diff?before=big&after=big");
  expect((await diff.text()).length).toBeLessThan(9 * MiB);
});

test("a file has a bound, too, and others get their turn while it is made", async () => {
  const site = await recorded();
  const app = createApp({ storage: new MemoryStorage(), workflows: [flow], secret, bind: false });
  onTestFinished(() => app.close());
  await app.run("large", undefined, { id: "big" });
  let turns = 0;
  const count = setInterval(() => turns++, 1);
  const [file, served] = [await exportRun(app, "big"), await bodyOf(site, "/export")];
  clearInterval(count);
  expect(Math.max(file.length, served.length)).toBeLessThan(26 * MiB);
  // Redaction of what fits takes some hundred milliseconds.
  expect(turns).toBeGreaterThan(3);
});

test("values with cycles, maps and errors count once and are shown", async () => {
  const cycle: { self?: object } = {};
  cycle.self = cycle;
  const values = [cycle, new Map([["k", new Set([1])]]), new Error("no", { cause: new Error("inner") })];
  const odd = durable("odd", (ctx) => ctx.step("odd", () => values as object));
  const app = createApp({ storage: new MemoryStorage(), workflows: [odd], secret, bind: false });
  onTestFinished(() => app.close());
  await app.run("odd", undefined, { id: "odd" });
  const { value } = await new Site({ app }).get<StepDetail>("runs/odd/step?key=odd");
  expect(value).toMatchObject([
    { self: "[cycle]" },
    [["k", [1]]],
    { message: "no", cause: { message: "inner" } },
  ]);
});

test("a scope has its share of the connections of pages", async () => {
  const app = createApp({ storage: new MemoryStorage(), workflows: [flow], secret, bind: false });
  onTestFinished(() => app.close());
  const handler = createDashboard({
    app,
    authorize: (request) => ({ scope: request.headers.get("x-user") ?? "" }),
  });
  const open = (user: string): Promise<Response> =>
    handler(new Request("http://localhost/api/events", { headers: { host: "localhost", "x-user": user } }));
  const mine = await Promise.all(Array.from({ length: 20 }, () => open("m")));
  expect(mine.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect((await open("m")).status).toBe(429);
  const other = await open("v");
  expect(other.status).toBe(200);
  for (const { body } of [...mine, other]) await body?.cancel();
  const again = await open("m");
  expect(again.status).toBe(200);
  await again.body?.cancel();
});
