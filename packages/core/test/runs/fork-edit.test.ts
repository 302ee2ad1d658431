import { durable, DurableError, MemoryStorage, type Context } from "@durable/core";
import type { ForkPlan } from "@durable/core/inspect";
import { aesGcm } from "@durable/core/encryption";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { textOf } from "../support/blobs-flow.ts";

const secret = "a secret for tests, of no worth";

/** A story in two drafts, with a review in between; what each step is given stands in what it gives. */
function story(storage = new MemoryStorage()) {
  const ran: string[] = [];
  const body = async (ctx: Context) => {
    const plan = await ctx.step("plan", () => (ran.push("plan"), { chapters: 3 }), {
      schema: z.object({ chapters: z.coerce.number().int() }),
    });
    const review = await ctx.suspend("review", { schema: z.object({ ok: z.boolean() }) });
    return ctx.step("write", () => (ran.push("write"), `${plan.chapters} chapters, ${review.ok}`));
  };
  const flow = durable("story", body, { storage, secret });
  const toTheEnd = async (id: string) => {
    const outcome = await flow.run(undefined, { id });
    if (outcome.status !== "suspended") throw new Error(outcome.status);
    await flow.resume(outcome.waiting[0]!.token, { ok: true });
    return flow.get(id);
  };
  return { flow, storage, ran, toTheEnd };
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    return DurableError.is(error) ? [error.code, error.message] : error;
  }
}

const whatOf = ({ calls }: ForkPlan): string[] =>
  calls.map(({ key, what, next }) => `${key} ${what}${next ? " next" : ""}`);

describe("an edit", () => {
  test("that does not fit the schema of its step is refused by name, and nothing is forked", async () => {
    const { flow, storage, ran, toTheEnd } = story();
    const run = await toTheEnd("s");
    expect(await codeOf(run.fork({ edit: { plan: { chapters: "many" } } }))).toEqual([
      "invalid-input",
      expect.stringMatching(
        /An edit of run s does not fit the schema of the call that it replaces: "plan": .*chapters.* No fork was created\./,
      ),
    ]);
    expect(await codeOf(run.plan({ edit: { review: { ok: "perhaps" } } }))).toEqual([
      "invalid-input",
      expect.stringContaining('"review"'),
    ]);
    expect((await storage.list()).runs).toHaveLength(1);
    expect((await flow.list({ parent: "s" })).runs).toEqual([]);
    expect(ran).toEqual(["plan", "write"]);
  });

  test("is what the schema makes of it, in a run that is over, failed, or still waits", async () => {
    const { flow, toTheEnd } = story();
    const run = await toTheEnd("s");
    const fork = await run.fork({ edit: { plan: { chapters: "7" }, review: { ok: false } }, id: "f" });
    expect(await fork.result()).toBe("7 chapters, false");
    await flow.run(undefined, { id: "waits" });
    const early = await flow.fork("waits", { edit: { review: { ok: false } } });
    expect(await early.result()).toBe("3 chapters, false");
    expect(await codeOf(flow.fork("waits", { edit: { review: null } }))).toMatchObject(["invalid-input", {}]);
  });

  test("and a place to run it again contradict each other", async () => {
    const { toTheEnd } = story();
    const run = await toTheEnd("s");
    expect(await codeOf(run.fork({ from: "review", edit: { review: { ok: false } } }))).toEqual([
      "invalid-options",
      '"review" of run s cannot both run again and be edited. Remove it from { from } or from { edit }.',
    ]);
  });

  test("of what the code does not ask for any more is taken as it is", async () => {
    const { storage, toTheEnd } = story();
    await toTheEnd("s");
    const other = durable("story", (ctx) => ctx.step("else", () => 1), { storage, secret });
    const fork = await other.fork("s", { edit: { plan: "whatever" } });
    expect(await fork.result()).toBe(1);
  });
});

describe("a plan", () => {
  test("of a run that waits shows the wait that opens again; of one that went on, what runs again", async () => {
    const { flow, ran, toTheEnd } = story();
    await flow.run(undefined, { id: "waits" });
    const waits = flow.get("waits");
    expect(whatOf(await waits.plan({ after: "plan" }))).toEqual(["plan reused", "review waits next"]);
    expect(whatOf(await waits.plan({ from: "plan" }))).toEqual(["plan runs next", "review waits"]);
    expect(whatOf(await waits.plan({ edit: { review: { ok: true } } }))).toEqual([
      "plan reused",
      "review edited",
      "write runs next",
    ]);
    const ended = await toTheEnd("ended");
    expect(whatOf(await ended.plan({ from: "review" }))).toEqual([
      "plan reused",
      "review waits next",
      "write runs",
    ]);
    expect(whatOf(await ended.plan({ after: "write" }))).toEqual([
      "plan reused",
      "review reused",
      "write reused",
    ]);
    expect(ran).toEqual(["plan", "plan", "write"]);
    expect((await flow.list()).runs, "nothing was made").toHaveLength(2);
  });

  test("shows steps that only the code of today has", async () => {
    const { storage, toTheEnd } = story();
    await toTheEnd("s");
    const flow = durable(
      "story",
      async (ctx) => {
        await ctx.step("plan", () => 0);
        return ctx.parallel({ a: (c) => c.step("translate", () => 1), b: (c) => c.sleep("1h") });
      },
      { storage, secret },
    );
    const { calls } = await flow.get("s").plan({ after: "plan" });
    expect(calls.map(({ key, kind, what, next }) => [key, kind, what, next])).toEqual([
      ["plan", "step", "reused", false],
      ["review", "suspend", "waits", false],
      ["write", "step", "runs", false],
      ["parallel[a]/translate", "step", "runs", true],
      ["parallel[b]/sleep", "sleep", "waits", true],
    ]);
  });

  test("says why the fork could not go on", async () => {
    const { storage, toTheEnd } = story();
    await toTheEnd("s");
    const flow = durable("story", (ctx) => ctx.sleep("1h", { name: "plan" }), { storage, secret });
    const { blocked } = await flow.get("s").plan({ after: "plan" });
    expect(blocked?.code).toBe("diverged");
  });

  test("and an edit are the same for sealed journals and large values", async () => {
    const storage = new MemoryStorage();
    const key = Buffer.from("a key of 32 bytes for tests only").toString("base64url");
    const large = textOf(1, 90_000);
    const flow = durable(
      "sealed",
      async (ctx) => {
        const text = await ctx.step("text", () => large, { schema: z.string().min(10) });
        return ctx.step("length", () => text.length);
      },
      { storage, encryption: aesGcm({ current: "a", keys: { a: key } }) },
    );
    await flow.run(undefined, { id: "p" });
    const run = flow.get("p");
    expect(whatOf(await run.plan({ edit: { text: textOf(2, 50_000) } }))).toEqual([
      "text edited",
      "length runs next",
    ]);
    expect(await codeOf(run.fork({ edit: { text: "short" } }))).toMatchObject(["invalid-input", {}]);
    expect(await (await run.fork({ edit: { text: textOf(2, 50_000) } })).result()).toBe(50_000);
  });

  test("takes what fork takes, and is refused where fork is", async () => {
    const { toTheEnd } = story();
    const run = await toTheEnd("s");
    expect(await codeOf(run.plan({ from: "pln" }))).toEqual([
      "unknown-step",
      expect.stringContaining("Did you mean: plan"),
    ]);
    expect(await codeOf(run.plan({}))).toMatchObject(["invalid-options", {}]);
  });

  test("tells tokens and money, of attempts that failed as well", async () => {
    const flow = durable(
      "priced",
      async (ctx) => {
        await ctx.step(
          "draft",
          ({ meter, attempt }) => {
            meter({
              model: "small",
              inputTokens: 1_000_000,
              outputTokens: 500_000,
              cachedInputTokens: 400_000,
            });
            if (attempt === 1) throw new Error("cut off");
          },
          { retry: { delay: 0 } },
        );
        await ctx.step("judge", ({ meter }) =>
          meter({ model: "large", inputTokens: 2_000_000, outputTokens: 0 }),
        );
      },
      { storage: new MemoryStorage() },
    );
    await flow.run(undefined, { id: "p" });
    const prices = { small: { input: 1, output: 4, cachedInput: 0.5 }, large: { input: 10, output: 30 } };
    const { saved, atStake } = await flow.get("p").plan({ from: "judge", prices });
    expect(saved).toEqual({
      usage: [
        { model: "small", inputTokens: 2_000_000, outputTokens: 1_000_000, cachedInputTokens: 800_000 },
      ],
      inputTokens: 2_000_000,
      outputTokens: 1_000_000,
      cost: 1.2 + 0.4 + 4,
    });
    expect(atStake).toMatchObject({ inputTokens: 2_000_000, outputTokens: 0, cost: 20 });
    const unknown = await flow.get("p").plan({ from: "judge", prices: { small: prices.small } });
    expect([unknown.saved.cost, unknown.atStake.cost]).toEqual([5.6, null]);
    expect((await flow.get("p").plan({ from: "draft", prices: {} })).saved.cost).toBe(0);
  });
});
