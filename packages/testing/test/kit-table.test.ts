/**
 * Twenty-four workflows with one mistake each, and what finds it, with which words. Each is a mistake that works on a
 * developer's desk and shows after a crash, a restart or a deploy.
 */

import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import {
  crashEverywhere,
  CrashError,
  recorder,
  recordGolden,
  replayGolden,
  scriptedModel,
  virtualWorld,
} from "@durable/testing";
import { expect, test } from "vitest";

type Work = (ctx: Context) => Promise<unknown>;

/** The report of a crash test that must fail, as text. */
async function crashed(...args: Parameters<typeof crashEverywhere<unknown, unknown>>): Promise<string> {
  const error: unknown = await crashEverywhere(...args).then(
    () => new Error("It passed."),
    (thrown: unknown) => thrown,
  );
  if (error instanceof CrashError) return error.message;
  throw new Error("The mistake was not found.", { cause: error });
}

/** The message about a journal of the code before, replayed with the code after. */
async function replayed(before: Work, after: Work): Promise<string> {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const secret = "a secret for tests, of no worth";
  const flow = durable("flow", before);
  const app = createApp({ workflows: [flow], storage, world, secret, bind: false });
  await world.run(app.run(flow, undefined, { id: "parked" }));
  const { journals } = await replayGolden(await recordGolden(storage, "parked"), {
    against: durable("flow", after),
    report: true,
  });
  return journals
    .map(({ verdict, message, warnings }) => `${verdict}: ${message} ${warnings.join(" ")}`)
    .join();
}

const mail = recorder();
const model = scriptedModel(["hi"]);
const ask = (): Promise<unknown> => model.doGenerate({ prompt: [{ role: "user", content: "hello" }] });
const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));
const ok = { resume: { ok: true } };
/** For what shows without a fault. */
const calm = { faults: [] };

const mistakes: readonly (readonly [mistake: string, words: string | RegExp, find: () => Promise<string>])[] =
  [
    [
      "1 a mail outside of a step",
      /effect send {2}.*kit-table\.test\.ts:\d+\n.*Put the effect into ctx\.step/,
      () =>
        crashed(
          durable("f", async (ctx) => {
            mail.record("send", { payload: "ada" });
            await ctx.suspend("ok");
          }),
          { effects: mail, ...ok, ...calm },
        ),
    ],
    [
      "2 a clock in a branch",
      /Date\.now {2}.*kit-table\.test\.ts:\d+/,
      () => crashed(durable("f", async (ctx) => (Date.now() % 2 === 0 ? ctx.step("a", () => 1) : 1))),
    ],
    [
      "3 a charge without a key",
      "charge  100, 2 times, with no key",
      () =>
        crashed(
          durable("f", (ctx) => ctx.step("charge", () => mail.record("charge", { payload: 100 }))),
          { effects: mail },
        ),
    ],
    [
      "4 a local map that steps fill, read after a wait",
      "in one process that keeps the run in memory completed with 3; with a restart at every wait completed with 0",
      () =>
        crashed(
          durable("f", async (ctx) => {
            const seen = new Map<string, number>();
            for (const id of ["a", "bb"]) await ctx.step(`score ${id}`, () => void seen.set(id, id.length));
            await ctx.suspend("ok");
            return ctx.step("sum", () => [...seen.values()].reduce((a, b) => a + b, 0));
          }),
          ok,
        ),
    ],
    [
      "4b the same without a wait",
      "in calm completed with 1, here completed with 0",
      () =>
        crashed(
          durable("f", async (ctx) => {
            const seen = new Set<string>();
            await ctx.step("score", () => void seen.add("a"));
            return ctx.step("sum", () => seen.size);
          }),
        ),
    ],
    [
      "4c a map of the module, in the function form",
      "in calm completed with 1, here completed with 0",
      () =>
        crashed(() => {
          const seen = new Set<string>();
          return durable("f", async (ctx) => {
            await ctx.step("score", () => void seen.add("a"));
            return ctx.step("sum", () => seen.size);
          });
        }),
    ],
    [
      "5 a counter that branches share",
      /in calm completed with \[ 1, 2 \], here completed with \[ \d, \d \]/,
      () =>
        crashed(
          durable("f", async (ctx) => {
            let count = 0;
            return ctx.map([1, 2], (c) => c.step("count", () => (count += 1)), { concurrency: 1 });
          }),
        ),
    ],
    [
      "6 a typo in was",
      '`was: "darft"` of "write" names no recorded call; "draft" is recorded and not asked for.',
      () =>
        replayed(
          async (ctx) => {
            await ctx.step("draft", () => 1);
            await ctx.suspend("ok");
          },
          async (ctx) => {
            await ctx.step("write", () => 1, { was: "darft" });
            await ctx.suspend("ok");
          },
        ),
    ],
    [
      "6b two was that are swapped, in a parked run",
      'replays: null The code calls "x" (was "b") before "y" (was "a"), but "a" was recorded before "b".',
      () =>
        replayed(
          async (ctx) => {
            await ctx.step("a", () => 1);
            await ctx.step("b", () => 2);
            await ctx.suspend("ok");
          },
          async (ctx) => {
            await ctx.step("x", () => 1, { was: "b" });
            await ctx.step("y", () => 2, { was: "a" });
            await ctx.suspend("ok");
          },
        ),
    ],
    [
      "7 a model that is not recorded",
      /model scripted {2}.*kit-table\.test\.ts:\d+\n.*durableModel/,
      () =>
        crashed(
          durable("f", async (ctx) => {
            await ask();
            return ctx.step("a", () => 1);
          }),
          { reset: model },
        ),
    ],
    [
      "8 a tool that is not recorded",
      /effect search {2}.*kit-table\.test\.ts:\d+\n.*durableTools/,
      () => {
        const tool = { execute: async (query: string) => mail.record("search", { payload: query }) };
        return crashed(
          durable("f", async (ctx) => {
            await ctx.step("ask", () => "tides");
            return tool.execute("tides");
          }),
          { effects: mail },
        );
      },
    ],
    [
      "9 an answer kept in a variable of the module",
      "in calm completed with 'paid', here completed with 'refused'",
      () =>
        crashed(() => {
          let approved = false;
          return durable("f", async (ctx) => {
            await ctx.step("approve", () => void (approved = true));
            await ctx.step("log", () => 1);
            return ctx.step("pay", () => (approved ? "paid" : "refused"));
          });
        }),
    ],
    // Twelve more.
    [
      "10 an answer in a variable, read after the next wait",
      "in memory completed with 'paid'; with a restart at every wait completed with 'refused'",
      () =>
        crashed(
          durable("f", async (ctx) => {
            let approved = false;
            await ctx.step("ask", () => void (approved = true));
            await ctx.sleep("10s");
            return ctx.step("pay", () => (approved ? "paid" : "refused"));
          }),
        ),
    ],
    [
      "11 a random id as an idempotency key",
      /pay {2}80 under [\w-]+ and [\w-]+/,
      () =>
        crashed(
          durable("f", (ctx) =>
            ctx.step("pay", () => mail.record("pay", { key: crypto.randomUUID(), payload: 80 })),
          ),
          { effects: mail },
        ),
    ],
    [
      "12 a random id in the workflow",
      /crypto\.randomUUID {2}.*kit-table\.test\.ts:\d+/,
      () =>
        crashed(
          durable("f", (ctx) => ctx.step("a", () => 1).then(() => crypto.randomUUID())),
          { compare: false },
        ),
    ],
    [
      "13 the present date in the name of a step",
      /new Date {2}.*kit-table\.test\.ts:\d+/,
      () => crashed(durable("f", (ctx) => ctx.step(`report of ${new Date().getUTCDate()}`, () => 1))),
    ],
    [
      "14 a request that is awaited in the workflow",
      /foreign await before "a" {2}.*kit-table\.test\.ts:\d+\n.*Put the wait into ctx\.step/,
      () =>
        crashed(
          durable("f", async (ctx) => {
            await soon();
            return ctx.step("a", () => 1);
          }),
        ),
    ],
    [
      "15 a step that edits the result of another one",
      "in calm completed with [ 'tea', 'milk' ], here completed with [ 'tea' ]",
      () =>
        crashed(
          durable("f", async (ctx) => {
            const cart = await ctx.step("cart", () => ["tea"]);
            await ctx.step("add", () => void cart.push("milk"));
            return ctx.step("buy", () => cart);
          }),
        ),
    ],
    [
      "16 a step that runs only in the first process",
      /call 1 is step (?:warm up|a) .* in one pass and step (?:warm up|a)/,
      () => {
        let warm = false;
        return crashed(
          durable("f", async (ctx) => {
            if (!warm) await ctx.step("warm up", () => 1);
            warm = true;
            return ctx.step("a", () => 1);
          }),
          { reset: () => (warm = false) },
        );
      },
    ],
    [
      "17 a number of the attempt in the payload",
      /'bill (?:1|2)' and 'bill (?:1|2)' under/,
      () => {
        let bills = 0;
        return crashed(
          durable("f", (ctx) =>
            ctx.step("bill", ({ idempotencyKey }) => {
              mail.record("bill", { key: idempotencyKey, payload: `bill ${++bills}` });
            }),
          ),
          { effects: mail, reset: () => (bills = 0) },
        );
      },
    ],
    [
      "18 an effect in a branch of ctx.parallel, outside of its steps",
      /effect send {2}.*kit-table\.test\.ts:\d+/,
      () =>
        crashed(
          durable("f", (ctx) =>
            ctx.parallel([
              async (c) => {
                await c.step("a", () => 1);
                mail.record("send");
              },
            ]),
          ),
          { effects: mail },
        ),
    ],
    [
      "19 a race of promises that is decided by a timer",
      /foreign await before "b"/,
      () =>
        crashed(
          durable("f", async (ctx) => {
            await Promise.race([soon(), new Promise(() => {})]);
            return ctx.step("b", () => 1);
          }),
        ),
    ],
    [
      "20 a wait for an answer that nothing gives",
      'The run waits for "uncertain"',
      () =>
        crashed(
          durable("f", async (ctx) => {
            await ctx.step("charge", () => 1, { onUncertain: "suspend" });
          }),
        ),
    ],
    [
      "21 a timer of the process that measures a deadline",
      /process\.hrtime {2}.*kit-table\.test\.ts:\d+/,
      () => crashed(durable("f", (ctx) => ctx.step(process.hrtime.bigint() > 0n ? "a" : "b", () => 1))),
    ],
  ];

test.each(mistakes)("%s", async (_, words, find) => {
  const text = await find();
  if (typeof words === "string") expect(text).toContain(words);
  else expect(text).toMatch(words);
});

test("`last = a` shared by branches is no mistake: replay keeps the order", async () => {
  const flow = durable("f", async (ctx) => {
    let last = "";
    await ctx.map(["a", "b"], async (c, name) => {
      await c.step("work", () => 1);
      last = name;
    });
    return last;
  });
  expect((await crashEverywhere(flow)).ok).toBe(true);
});
