/** Steps replaced by name, in crash tests and in tests of your own. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { crashEverywhere, recorder, withSteps } from "@durable/testing";
import { expect, test } from "vitest";

const never = (): never => {
  throw new Error("no network in tests");
};

const parcel = durable("parcel", (ctx, city: string) => ctx.step("label", () => `${city} ${never()}`));
const order = durable("order", async (ctx, cents: number) => {
  const charge = await ctx.step("charge", ({ idempotencyKey }) => `${idempotencyKey} ${never()}`);
  const words = await ctx.stream("letter", () => [never()]);
  const sent = await ctx.map(["Rome", "Oslo"], (c, city) => c.child(parcel, city), { key: (city) => city });
  return { cents, charge: charge.length > 0, words, sent };
});

test("in a crash test: by name, by key, in streams and children", async () => {
  const bank = recorder();
  const report = await crashEverywhere(order, {
    input: 80,
    effects: bank,
    faults: ["crash-before"],
    steps: {
      charge: ({ idempotencyKey }) => {
        bank.record("charge", { key: idempotencyKey });
        return "charged";
      },
      letter: () => ["Dear", "Ada"],
      label: () => "a label",
      "map[Oslo]/parcel/label": () => "another label",
    },
  });
  expect(report.calm.outcome).toMatchObject({
    output: { cents: 80, charge: true, words: ["Dear", "Ada"], sent: ["a label", "another label"] },
  });
  expect(report.warnings).toEqual([]);
  expect(report.repeated.find(({ key }) => key === "charge")).toMatchObject({ keyed: true });
});

test("a replacement that no step uses is a warning", async () => {
  const flow = durable("one", (ctx) => ctx.step("charge", () => 1));
  const { warnings } = await crashEverywhere(flow, { steps: { chrage: () => 2 }, faults: [] });
  expect(warnings).toEqual(['steps replaces "chrage", but the run has no step of that name']);
});

test("in any other test: the workflow with its steps replaced", async () => {
  const label = (): string => "a label";
  const tested = withSteps(order, { charge: () => "charged", letter: () => ["Hi"], label });
  const app = createApp({ workflows: [tested], storage: new MemoryStorage(), bind: false });
  const outcome = await app.run(tested, 80);
  expect(outcome).toMatchObject({ output: { cents: 80, words: ["Hi"], sent: ["a label", "a label"] } });
  await crashEverywhere(tested, { input: 80, faults: ["crash-before"] });
});

test("a call site is that of the workflow, also below both", async () => {
  const flow = durable("clock", async (ctx) => ctx.step(`at ${Date.now() > 0}`, () => 1));
  const { ambient } = await crashEverywhere(withSteps(flow, {}), { throws: false, faults: [] });
  expect(ambient).toMatchObject([{ at: expect.stringMatching(/kit-steps\.test\.ts:\d+$/) }]);
});
