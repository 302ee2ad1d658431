/** How a search that is being typed goes on: from the data, without journals, and with as many heads whatever the number of runs. */

import { createApp, durable, MemoryStorage, type App } from "@durable/core";
import { readSearch, suggestSearch } from "@durable/core/inspect";
import { beforeAll, expect, test } from "vitest";

const storage = new MemoryStorage();
let app: App;

const refund = durable("refund", (ctx) => ctx.suspend("approve"), { version: "v7" });
const mail = durable("mail it", async (ctx, to: string) => {
  await ctx.step(
    "send",
    (info) => {
      info.meter({ model: "luna, small", inputTokens: 1, outputTokens: 1, label: "writer" });
      if (to === "nobody") throw new Error("429 too many");
    },
    { retry: { attempts: 1 } },
  );
});

beforeAll(async () => {
  app = createApp({ storage, workflows: [refund, mail] });
  for (let n = 0; n < 3; n++)
    await app.run("refund", null, { id: `r${n}`, tags: { customer: `4${n}`, plan: "pro" } });
  await app.run("mail it", "ann", { id: "m1" });
  await app.run("mail it", "nobody", { id: "m2" });
  // An old run that is behind all that is read of the newest.
  await app.run("refund", null, { id: "z-old", tags: { customer: "rare" } });
  for (let n = 0; n < 210; n++) await app.run("mail it", "ann", { id: `n${n}` });
});

const after = async (text: string): Promise<readonly string[]> => {
  const { at, parts } = await suggestSearch(app, text);
  return parts.map((part) => text.slice(0, at) + part);
};

test.each([
  ["", "workflow:"],
  ["st", "status:"],
  ["co", "cost>"],
  ["status:fa", "status:failed"],
  ["status:failed,blo", "status:failed,blocked"],
  ["status:failed wo", "status:failed workflow:"],
  ["workflow:ma", 'workflow:"mail it"'],
  ["status:failed workflow:refund,", 'status:failed workflow:refund,"mail it"'],
  ['workflow:"ma', 'workflow:"mail it"'],
  ["since:", "since:24h"],
  ["model:lu", 'model:"luna, small"'],
  ["step:", "step:writer"],
  ["tag:customer=ra", "tag:customer=rare"],
  ["rar", "tag:customer=rare"],
  ["q:z", "q:z-old"],
])("%j goes on with %j", async (text, wanted) => {
  expect(await after(text)).toContain(wanted);
  for (const each of await after(text))
    if (!/[:>]$/.test(each)) expect(readSearch(each).problems).toEqual([]);
});

test("what does not fit is not offered, and what is typed is not offered again", async () => {
  expect(await after("status:failed")).not.toContain("status:failed");
  expect(await after("workflow:xyz")).toEqual([]);
  expect((await after("cost>0")).filter((text) => text !== "cost>0")).toEqual([]);
});

test("what a reader may not see is not offered", async () => {
  const { parts } = await suggestSearch(app, "tag:customer=4", async (runs) =>
    runs.filter(({ runId }) => runId === "r1"),
  );
  expect(parts).toEqual(["tag:customer=41"]);
  const found = await suggestSearch(app, "tag:customer=41", async (runs) =>
    runs.filter(({ runId }) => runId === "r0"),
  );
  expect(found.parts).toEqual([]);
});

test("it reads two pages of heads and no journal, however many runs there are", async () => {
  const reads: string[] = [];
  const read = storage.read.bind(storage);
  const list = storage.list.bind(storage);
  storage.read = (locator, from) => (reads.push(locator), read(locator, from));
  const asked: number[] = [];
  storage.list = (query) => (asked.push(query?.limit ?? 0), list(query));
  await after("tag:customer=4");
  await after("status:fa");
  expect([reads, asked]).toEqual([[], [200, 50]]);
});
