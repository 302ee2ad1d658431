/** The types users of the kit see, with nothing annotated. Checked by `npm run types`. */

import { durable, type Outcome, type SuspendPoint } from "@durable/core";
import {
  crashEverywhere,
  recorder,
  scriptedModel,
  type CrashLife,
  type CrashReport,
  type ModelCall,
  type ModelMessage,
} from "@durable/testing";
import { expectTypeOf } from "vitest";
import { z } from "zod";

const invoice = durable("invoice", async (ctx, input: { amount: number }) => {
  await ctx.suspend("approve");
  return { paid: input.amount };
});
const plain = durable("plain", async () => 5);
const checked = durable("checked", async (_, { n }) => n, { input: z.object({ n: z.number().default(1) }) });

void crashEverywhere(invoice, { input: { amount: 1 } }).then((report) => {
  expectTypeOf(report).toEqualTypeOf<CrashReport<{ paid: number }>>();
  expectTypeOf(report.calm.outcome).toEqualTypeOf<Outcome<{ paid: number }>>();
  expectTypeOf(report.cases[0]!.ran["x"]).toEqualTypeOf<number | undefined>();
});
void crashEverywhere(invoice, {
  input: { amount: 1 },
  resume: {
    approve: (point) => {
      expectTypeOf(point).toEqualTypeOf<SuspendPoint>();
      return { ok: point.name === "approve" };
    },
    many: [1, "two", { three: 3 }],
    plain: { ok: true },
    none: null,
  },
  same: (calm, other) => {
    expectTypeOf([calm, other]).toEqualTypeOf<{ paid: number }[]>();
    return true;
  },
  effects: [recorder()],
  reset: [scriptedModel([]), () => 1],
  allow: ["Date.now"],
});
// Workflows without an input need no options at all, and options without an input.
void crashEverywhere(plain);
void crashEverywhere(plain, { compare: false });
void crashEverywhere(checked, { input: {} });
void crashEverywhere(
  (life) => {
    expectTypeOf(life).toEqualTypeOf<CrashLife>();
    return invoice.with({ storage: life.storage });
  },
  { input: { amount: 2 }, same: (calm) => calm.paid > 0 },
);
void crashEverywhere(async () => plain).then((report) => {
  expectTypeOf(report).toEqualTypeOf<CrashReport<number>>();
});

// @ts-expect-error the workflow takes an input
void crashEverywhere(invoice);
// @ts-expect-error the workflow takes an input
void crashEverywhere(invoice, { resume: {} });
// @ts-expect-error another input
void crashEverywhere(invoice, { input: { amount: "1" } });
// @ts-expect-error no such option
void crashEverywhere(plain, { answers: {} });
// @ts-expect-error no such fault
void crashEverywhere(plain, { faults: ["crash"] });
// @ts-expect-error no such clock
void crashEverywhere(plain, { allow: ["Date.then"] });

scriptedModel((prompt, call) => {
  expectTypeOf(prompt).toEqualTypeOf<readonly ModelMessage[]>();
  expectTypeOf(call).toEqualTypeOf<ModelCall>();
  return call.turn === 1 ? { calls: [{ tool: "search" }] } : "done";
});
scriptedModel([
  "text",
  { text: "a", calls: [{ tool: "t", input: {} }] },
  new Error("x"),
  { fail: "busy", retryAfter: 5 },
]);
// @ts-expect-error no such field
scriptedModel([{ say: "hello" }]);
