/** Texts of limits that are damaged or forged: what needs one is refused at once, and goes on when the text is right again. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { show } from "../../src/values/errors.ts";
import { expect, test } from "vitest";

const windows = [
  "1886516804",
  "[0",
  "null",
  "{}",
  '["x",0,0,[]]',
  "[1000,null,0,[]]",
  "[1000,1e999,0,[]]",
  "[1000,0,0,[1]]",
  '[1000,0,0,[],["x",1]]',
];
const quotas = [
  "7",
  "[[1000,0,0,[]],{},[0,0],0]",
  "[null,null,[0,0],0]",
  '[null,{},["x",0],0]',
  '[null,{"a":"x"},[0,0],0]',
  '[null,{},[0,0],"x"]',
];

const rated = durable("rated", () => "done", { rate: { max: 5, per: "1h" } });
const asking = durable("asking", (ctx) => ctx.step("ask", () => "done", { quota: "models" }));

const cases = [
  ...windows.map((text) => ["rated", 'rate ["rated",""]', text] as const),
  ...windows.map((text) => ["asking", "quota models", JSON.stringify([text, {}, [0, 0], 0])] as const),
  ...quotas.map((text) => ["asking", "quota models", text] as const),
];

test.each(cases)("%s: %s = %s", async (workflow, name, text) => {
  const storage = new MemoryStorage();
  const limits = { ...storage.limits };
  let reads = 0;
  Object.assign(storage.limits, { read: (asked: string) => (asked === name && reads++, limits.read(asked)) });
  const app = createApp({
    storage,
    secret: "only for this test, 32 characters",
    workflows: [rated, asking],
    quotas: { models: { requests: 5, tokens: 100, concurrent: 5, per: "1h" } },
    bind: false,
  });
  await storage.limits.swap(name, null, text, 1e9);
  const refused = await app.run(workflow, undefined, { id: "r" }).then(
    (outcome) => (outcome.status === "blocked" ? outcome.error : outcome),
    (error: unknown) => error,
  );
  expect(refused).toMatchObject({ code: "corrupt", message: expect.stringContaining(show(name)) as string });
  // Asking again and again does not help.
  expect(reads).toBe(1);
  await storage.limits.swap(
    name,
    text,
    name.startsWith("rate") ? "[3600000,0,0,[]]" : "[null,{},[0,0],0]",
    1e9,
  );
  expect(await app.advance("r")).toMatchObject({ status: "completed", output: "done" });
});
