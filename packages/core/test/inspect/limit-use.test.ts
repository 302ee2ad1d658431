/** What tools show of slots, rates and quotas. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { declaredLimits, limitUse, quotaUse } from "@durable/core/inspect";
import { expect, test } from "vitest";

test("slots, rates and quotas are shown with their use", async () => {
  const storage = new MemoryStorage();
  expect(await limitUse(storage)).toEqual({ slots: [], windows: [] });
  let finish = (): void => {};
  const held = new Promise<void>((resolve) => (finish = resolve));
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  let under = 0;
  const mail = durable(
    "mail",
    (ctx, _customer: string) =>
      ctx.step(
        "send",
        () => {
          under += 1;
          if (under === 3) begin();
          return held;
        },
        { quota: { name: "smtp", tokens: 30 } },
      ),
    {
      concurrency: { max: 2, key: (customer) => customer },
      rate: { max: 100, per: "1 hour", key: (customer) => customer },
    },
  );
  const app = createApp({
    storage,
    workflows: [mail],
    quotas: { smtp: { requests: 100, tokens: 1_000, concurrent: 5, per: "1 hour" } },
  });
  const runs = await Promise.all(["a", "a", "b"].map((customer) => app.start("mail", customer)));
  await begun;
  expect(await limitUse(storage)).toEqual({
    slots: [
      { workflow: "mail", slot: "a", taken: 2, waiting: 0 },
      { workflow: "mail", slot: "b", taken: 1, waiting: 0 },
    ],
    windows: [
      { kind: "quota", name: "smtp", used: 3, tokens: 90, cost: 0, calls: 3 },
      { kind: "rate", name: "mail a", used: 2, tokens: 0, cost: 0, calls: 0 },
      { kind: "rate", name: "mail b", used: 1, tokens: 0, cost: 0, calls: 0 },
    ],
  });
  // What was used stands in the part of the window in which it was.
  const over = (await quotaUse(app)).map((one) => [one.what, one.used, one.over.length, one.over.at(-1)]);
  expect(over).toEqual([
    ["requests", 3, 20, 3],
    ["tokens", 90, 20, 90],
    ["concurrent", 3, 0, undefined],
  ]);
  finish();
  await Promise.all(runs.map((run) => run.result()));
  const after = await limitUse(storage);
  expect([after?.slots, after?.windows[0]?.calls]).toEqual([[], 0]);
  expect(await limitUse(new RemoteStorage(new MemoryBucket()))).toBeNull();
});

test("a damaged text is shown as damaged, and hides no other", async () => {
  const storage = new MemoryStorage();
  const put = (name: string, text: string) => storage.limits.put?.(name, text, 60_000);
  const window = "[60000,0,0,[],[0,3]]";
  await put("quota good", JSON.stringify([window, {}, [0, 0], 0]));
  await put('rate ["mail","a"]', window);
  const names = ["", "[", "null", "5", "{}", '["["]', "[5]", '["[]",null]', '["[0,0,0,[],5]"]'];
  for (const [n, text] of names.entries()) {
    await put(`quota bad ${n}`, text);
    await put(`rate ["bad","${n}"]`, text);
  }
  await put("rate [", window);
  const windows = (await limitUse(storage))?.windows ?? [];
  expect(windows).toHaveLength(2 * names.length + 3);
  const [good, damaged] = [
    windows.filter((one) => one.damaged === undefined),
    windows.filter((one) => one.damaged),
  ];
  expect(good).toEqual([
    { kind: "quota", name: "good", used: 3, tokens: 0, cost: 0, calls: 0 },
    { kind: "rate", name: "mail a", used: 3, tokens: 0, cost: 0, calls: 0 },
  ]);
  expect(damaged.map(({ used }) => used)).toEqual(damaged.map(() => 0));
});

test("the limits that workflows declare are known while nothing uses them", () => {
  const mail = durable("mail", (_ctx, _customer: string) => 1, {
    concurrency: { max: 2, key: (customer) => customer },
    rate: { max: 100, per: "1 hour" },
  });
  const one = durable("one", () => 1, { concurrency: 1 });
  const free = durable("free", () => 1);
  const app = createApp({ storage: new MemoryStorage(), workflows: [mail, one, free], bind: false });
  expect(declaredLimits(app)).toEqual([
    { workflow: "mail", what: "concurrency", max: 2, keyed: true },
    { workflow: "mail", what: "rate", max: 100, perMs: 3_600_000, keyed: false },
    { workflow: "one", what: "concurrency", max: 1, keyed: false },
  ]);
});
