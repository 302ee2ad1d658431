/** Lists are never stale: changes of old runs are announced, and rows in view are read again. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { expect, test } from "vitest";
import type { Inbox, RunList, Session } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { Events } from "./support/events.ts";
import { secret } from "./support/journals.ts";

const refund = durable("refund", (ctx) => ctx.suspend<boolean>("approve"));

test("the change of a run that sixty others are newer than is announced, and shown", async () => {
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [refund] });
  const site = new Site({ app });
  for (let n = 0; n < 61; n++) await app.run("refund", null, { id: `r${n}` });
  const list = await Events.open(site, "events");
  // Once after the watch has begun.
  const heard = await list.count("runs", 1);
  const waiting = await app.get("r0").outcome();
  await app.resume("waiting" in waiting ? waiting.waiting[0]!.token : "", true);
  expect(await list.count("runs", heard + 1)).toBeGreaterThan(heard);
  await list.close();
  const { runs } = await site.get<RunList>("runs?ids=r0,r1,gone");
  expect(runs.map(({ runId, state }) => [runId, state])).toEqual([
    ["r0", "completed"],
    ["r1", "waiting"],
  ]);
  // Asked with the filters of the list, a run that no longer fits is left out.
  const fitting = await site.get<RunList>("runs?ids=r0,r1&status=suspended");
  expect(fitting.runs.map(({ runId }) => runId)).toEqual(["r1"]);
});

test("a page is told how often it reads where the storage tells of no change", async () => {
  const storage = new MemoryStorage();
  expect(await new Site({ storage }).get<Session>("session")).toMatchObject({ everyMs: null });
  Object.defineProperty(storage, "revision", { value: undefined });
  expect(await new Site({ storage }).get<Session>("session")).toMatchObject({ everyMs: 5_000 });
});

test("the inbox says how many waits are open, whatever its page shows", async () => {
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [refund] });
  const site = new Site({ app });
  for (let n = 0; n < 70; n++) await app.run("refund", null, { id: `r${n}` });
  const inbox = await site.get<Inbox>("inbox?limit=1");
  expect(inbox.items).toHaveLength(1);
  expect(inbox.open).toMatchObject({ count: 70, more: false });
});

test("texts are compressed for those who take it, and events are not", async () => {
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [refund] });
  const site = new Site({ app });
  for (let n = 0; n < 70; n++) await app.run("refund", null, { id: `r${n}` });
  const plain = await site.fetch("/api/runs");
  expect(plain.headers.get("content-encoding")).toBeNull();
  const text = await plain.text();
  const zipped = await site.fetch("/api/runs", { headers: { "accept-encoding": "gzip, br" } });
  expect(zipped.headers.get("content-encoding")).toBe("gzip");
  const bytes = new Uint8Array(await zipped.arrayBuffer());
  expect(bytes.length * 8).toBeLessThan(text.length);
  const opened = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  expect(JSON.parse(await opened.text())).toEqual(JSON.parse(text));
  const events = await site.fetch("/api/events", { headers: { "accept-encoding": "gzip" } });
  expect(events.headers.get("content-encoding")).toBeNull();
  await events.body?.cancel();
});
