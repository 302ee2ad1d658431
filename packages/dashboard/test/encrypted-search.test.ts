/** A search for words reads no value of an app that encrypts them, also where the page has the key. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { expect, test } from "vitest";
import type { RunList } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { secret } from "./support/journals.ts";

const pay = durable("pay", (ctx) =>
  ctx.step(
    "charge",
    () => {
      throw new Error("429 for the customer from Lisbon");
    },
    { retry: false },
  ),
);
const encryption = aesGcm({ keys: { k: crypto.getRandomValues(new Uint8Array(32)) }, current: "k" });

test.each([
  ["without encryption", {}, 1],
  ["with encryption", { encryption }, 0],
])("%s, a word of an error finds %i runs", async (_name, options, found) => {
  const app = createApp({ storage: new MemoryStorage(), secret, workflows: [pay], bind: false, ...options });
  const run = await app.start(pay, undefined, { id: "pay-1", tags: { customer: "ada" } });
  await run.result().catch(() => {});
  const site = new Site({ app });
  const search = async (text: string): Promise<number> =>
    (await site.get<RunList>(`runs?${text}`)).runs.length;
  expect(await search("text=lisbon")).toBe(found);
  // Whoever has the key reads it in the list, and may ask for errors by name.
  expect((await site.get<RunList>("runs")).runs[0]?.error?.message).toContain("Lisbon");
  expect(await search("text=ada")).toBe(1);
  expect(await search("text=pay-1")).toBe(1);
  expect(await search("error=lisbon")).toBe(1);
  expect(await search(`text=lisbon&until=${encodeURIComponent("2020-01-01")}`)).toBe(0);
  await app.close();
});
