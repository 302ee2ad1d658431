/** Runs in the states that the page of a run has to explain: one that works, one that waits, one that took everything back. */

import { createApp, durable, FatalError, type App, type Storage } from "@durable/core";
import type { KeepsPrompt, PromptRecord } from "@durable/core/storage";
import type { StepInfo } from "@durable/core";
import { z } from "zod";
import { secret } from "./journals.ts";

const model = "atlas-2-large";
export const runPrices = { [model]: { input: 3, output: 15 } };

/** Later than any test waits. */
const later = new Promise<never>(() => {});

function meterOf(info: StepInfo, inputTokens: number, outputTokens: number, cachedInputTokens = 0): void {
  info.meter({ model, inputTokens, outputTokens, cachedInputTokens });
}

const system =
  "You answer customers of a bicycle shop. Be brief and kind. Quote the policy when money is concerned. Never promise a date that the warehouse has not given.";
const user = (text: string): object => ({ role: "user", content: [{ type: "text", text }] });
const asked = (first: boolean): PromptRecord =>
  first
    ? {
        add: [
          { role: "system", content: system },
          user("My order 88213 has not come. Where is it?"),
          user("Policy: express parcels that take longer than five days: the fee is paid back."),
        ],
        hashes: ["h1", "h2", "h3"],
        about: "a",
        with: {
          model,
          provider: "atlas",
          tools: ["crm.lookup", "policy-brief"],
          settings: { temperature: 0.2 },
        },
      }
    : {
        keep: 2,
        after: "h2",
        add: [
          user(
            "Policy: express parcels that take longer than three working days: the fee is paid back without being asked for.",
          ),
        ],
        hashes: ["h4"],
        about: "a",
      };

function keepPrompt(info: StepInfo, first: boolean): void {
  (info as StepInfo & KeepsPrompt).keepPrompt(() => asked(first));
}

export interface RunPages {
  readonly app: App;
  /** Lets the work that is under way end. */
  readonly finish: () => void;
  readonly close: () => Promise<void>;
}

/** Runs them. `pace` is how long a second of them takes, in milliseconds. */
export async function createRunPages(storage: Storage, pace = 1_000): Promise<RunPages> {
  const wait = (seconds: number): Promise<void> =>
    new Promise((resolve) => setTimeout(resolve, seconds * pace));
  let finish = (): void => {};
  const gate = new Promise<void>((resolve) => (finish = resolve));
  let tries = 0;

  const brief = durable("policy-brief", async (ctx, topic: string) => {
    await ctx.step("plan", async (info) => {
      await wait(1);
      meterOf(info, 900, 200);
      return `how ${topic} are handled`;
    });
    await ctx.parallel({
      web: (c) => c.step("search", () => wait(2.4).then(() => "two pages")),
      law: (c) => c.step("search", () => wait(3.3).then(() => "one page")),
    });
    return ctx.step("draft", async (info) => {
      await wait(3.1);
      meterOf(info, 6_900, 1_000);
      return "Express parcels that take longer than three working days: the fee is paid back [2].";
    });
  });

  const support = durable("support-agent", async (ctx, question: string) => {
    await ctx.step("classify", async (info) => {
      await wait(0.9);
      meterOf(info, 500, 60);
      return "late parcel";
    });
    await ctx.parallel({
      kb: (c) => c.step("search", () => wait(0.7).then(() => ["express"])),
      crm: (c) => c.step("lookup", () => wait(0.3).then(() => ({ order: 88_213, shipped: "2026-11-13" }))),
    });
    await ctx.step("ask", async (info) => {
      keepPrompt(info, true);
      await wait(0.4);
      meterOf(info, 900, 120, 400);
      return {
        content: [
          { type: "text", text: "I look into it." },
          { type: "tool-call", toolName: "crm.lookup", toolCallId: "1", input: { order: 88_213 } },
        ],
        finishReason: "tool-calls",
      };
    });
    await ctx.child(brief, "late parcels");
    return ctx.step(
      "answer",
      async (info) => {
        tries += 1;
        keepPrompt(info, false);
        await wait(1.6);
        meterOf(info, 11_900, 192, 9_200);
        if (tries <= 3) throw new Error("429 Too Many Requests", { cause: new Error("come back in 1 s") });
        await gate;
        return {
          content: [{ type: "text", text: `Thank you for waiting. ${question}` }],
          finishReason: "stop",
        };
      },
      { retry: { attempts: 2, delay: 1 * pace, jitter: false } },
    );
  });

  const refund = durable("refund", async (ctx, order: number) => {
    await ctx.step("charge-lookup", () => wait(0.2).then(() => 1_240));
    await ctx.step("assess", async (info) => {
      await wait(3.1);
      meterOf(info, 1_700, 200);
      return "frame cracked, within warranty";
    });
    const isRight = await ctx.suspend("approve", {
      schema: z.boolean(),
      timeout: "42 min",
      note: {
        question: `Refund 1,240 EUR for order ${order}?`,
        customer: "harbour-bikes",
        paid: "1,240.00 EUR",
      },
    });
    return ctx.step("pay-out", () => isRight);
  });

  const trip = durable("book-trip", async (ctx) => {
    await ctx.step("quote", async (info) => {
      await wait(1.8);
      meterOf(info, 2_600, 200);
      return 900;
    });
    for (const [name, seconds] of [
      ["hold", 1],
      ["flight", 1.8],
      ["hotel", 1.2],
    ] as const)
      await ctx.step(name, () => wait(seconds).then(() => `${name} 7`), {
        compensate: () => wait(seconds * 0.7),
      });
    return ctx.step(
      "car",
      () =>
        wait(0.6).then(() =>
          Promise.reject(
            new Error("The rental API answered 409", {
              cause: new FatalError("No car left in Lisbon for 14 to 18 Dec"),
            }),
          ),
        ),
      { retry: { attempts: 3, delay: 0.5 * pace, jitter: false } },
    );
  });

  const nap = durable("reminder", async (ctx) => {
    await ctx.step("note", () => "noted");
    await ctx.sleep("2 days");
    return ctx.step("send", () => later);
  });

  const numbers = durable("numbers", async (ctx) => {
    await ctx.step("make", () => ({
      title: "measurements",
      rows: Array.from({ length: 20_000 }, (_, i) => ({ id: i, name: `row ${i}`, value: (i * 37) % 101 })),
      text: "sand ".repeat(60_000) + "needle in the sand",
    }));
    return ctx.step("count", () => 20_000);
  });

  const app = createApp({
    storage,
    secret,
    workflows: [support, brief, refund, trip, nap, numbers],
    prices: runPrices,
    record: { prompts: true },
  });
  const stopped = async (id: string): Promise<void> => {
    while ((await app.get(id).outcome()).status === "running")
      await new Promise((next) => setTimeout(next, 20));
  };
  const tags = { customer: "harbour-bikes", env: "prod" };
  await Promise.all([
    app.start("refund", 88_213, { id: "refund-5107", tags }).then(() => stopped("refund-5107")),
    app
      .start("book-trip", null, { id: "trip-2290", tags: { customer: "19" } })
      .then((run) => run.result().catch(() => {})),
    app.start("reminder", null, { id: "reminder-1" }).then(() => stopped("reminder-1")),
    app.start("numbers", null, { id: "numbers-1" }).then((run) => run.result()),
    app
      .start("support-agent", "Your order left on Friday.", { id: "support-8812", tags })
      .then((run) => run.result().catch(() => {})),
  ]);
  const fork = await app.get("refund-5107").fork({ from: "assess", label: "again", id: "refund-5107-again" });
  await stopped(fork.id);
  await app.get("refund-5107-again").fork({ from: "assess", id: "refund-5107-third" });
  await stopped("refund-5107-third");
  await new Promise((next) => setTimeout(next, 2.5 * pace));
  await app.get("support-8812").retry();
  while ((await app.get("support-8812").entries()).filter(({ kind }) => kind === "attempt.failed").length < 1)
    await new Promise((next) => setTimeout(next, 20));
  return {
    app,
    finish,
    close: async () => {
      finish();
      await stopped("support-8812");
      await app.close();
    },
  };
}
