/** Runs of yesterday and of today, by an app whose clock is behind, for screens that look back. */

import { type App, createApp, durable, MemoryStorage, type Storage } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { z } from "zod";
import { prices, secret } from "./journals.ts";

export const hour = 3_600_000;

interface Question {
  readonly customer: number;
  readonly fails?: string;
}

/** Fails while it is told to; a retry asks again. */
export const trouble = new Set(["429", "no car"]);

const meters = { model: "model-x", inputTokens: 20_000, outputTokens: 2_000 };

export const support = durable("support-agent", async (ctx, { customer, fails = "" }: Question) => {
  const kind = await ctx.step("classify", () => (customer % 2 === 0 ? "refund" : "question"));
  return ctx.step(
    "answer",
    (info) => {
      info.meter(meters);
      if (trouble.has(fails))
        throw new Error(
          fails === "429" ? "429 Too Many Requests: limit of model-x" : "No car left in Lisbon",
        );
      return `An answer about a ${kind}`;
    },
    { retry: false },
  );
});
export const refund = durable(
  "refund",
  async (ctx, { order, late = false }: { order: number; late?: boolean }) => {
    const { approved } = await ctx.suspend("approve", {
      schema: z.object({ approved: z.boolean(), remark: z.string().optional() }),
      note: { question: `Refund order ${order}?`, customer: "harbour-bikes", amount: "1,240 EUR" },
      timeout: late ? "2 hours" : "30 hours",
    });
    return approved ? "paid" : "refused";
  },
);
export const newsletter = durable("newsletter", async (ctx) => {
  await ctx.sleep("1 hour");
  return ctx.step("send", () => "sent");
});

const workflows = [support, refund, newsletter];

function appAt(storage: Storage, behindMs: number): App {
  const world = { ...systemWorld, now: () => Date.now() - behindMs };
  return createApp({ storage, secret, prices, workflows, bind: false, patience: 0, world });
}

/** 40 failures of one kind and 3 of another, 6 answers, 2 late approvals and 2 that are not, and a newsletter that is due. */
export async function yesterday(storage: Storage = new MemoryStorage()): Promise<App> {
  const past = appAt(storage, 20 * hour);
  const runs: Promise<unknown>[] = [];
  for (let n = 0; n < 49; n++) {
    const fails = n < 40 ? "429" : n < 43 ? "no car" : "";
    const tags = { customer: String(n), env: "prod" };
    runs.push(past.run("support-agent", { customer: n, fails }, { id: `support-${n}`, tags }));
  }
  for (const [n, late] of [true, true, false, false].entries())
    runs.push(past.run("refund", { order: 88_190 + n, late }, { id: `refund-${n}` }));
  runs.push(past.run("newsletter", undefined, { id: "news-17" }));
  await Promise.all(runs);
  await past.close();
  return createApp({ storage, secret, prices, workflows, bind: false, patience: 0 });
}
