/** Wrong uses that the compiler refuses. Checked by `npm run types`; those that it cannot see are refused at run time. */

import { expectTypeOf } from "vitest";
import * as z from "zod";
import { createApp, durable, MemoryStorage, RetryError, type Duration } from "../src/index.ts";

interface Draft {
  readonly topic: string;
}

durable("durations", async (ctx) => {
  await ctx.sleep("3 days");
  await ctx.sleep("1.5h");
  await ctx.sleep(`${Number("5")} minutes`);
  // @ts-expect-error no such unit
  await ctx.sleep("3 dayz");
  // @ts-expect-error a unit is needed
  await ctx.sleep("3");
  // @ts-expect-error no number
  await ctx.suspend("x", { timeout: "soon" });
  // @ts-expect-error no such unit
  throw new RetryError("later", { after: "30 secs later" });
});
// @ts-expect-error no such unit
durable("limited", () => 1, { deadline: "2 fortnights" });
// @ts-expect-error no such unit
durable("rated", () => 1, { rate: { max: 1, per: "1 minut" } });
expectTypeOf<"2 weeks">().toExtend<Duration>();

durable("results", async (ctx) => {
  // @ts-expect-error a function cannot be recorded
  await ctx.step("function", () => () => 1);
  // @ts-expect-error nor one that a promise gives
  await ctx.step("promise", async () => () => 1);
  // @ts-expect-error a response is read in the step
  await ctx.step("fetch", () => fetch("https://example.com"));
  const read = await ctx.step("read", async () => (await fetch("https://example.com")).text());
  expectTypeOf(read).toEqualTypeOf<string>();
  const thrown = await ctx.step("throws", () => Promise.reject(new Error("no")));
  expectTypeOf(thrown).toEqualTypeOf<never>();
  const maybe = await ctx.step("maybe", (): unknown => 1);
  expectTypeOf(maybe).toEqualTypeOf<unknown>();
});

durable("draft", (ctx, input: Draft) => {
  // @ts-expect-error the next chapter gets the same kind of input
  if (input.topic === "") return ctx.continueAs({ wrong: true });
  return ctx.continueAs({ topic: `${input.topic}!` });
});
durable(
  "parsed",
  (ctx, input) => {
    expectTypeOf(input).toEqualTypeOf<number>();
    // @ts-expect-error the schema takes a text
    if (input > 5) return ctx.continueAs(input);
    return ctx.continueAs("text");
  },
  { input: z.string().transform((text) => text.length) },
);

durable("mail", async (ctx) => {
  const typed = await ctx.receive<Draft | null>("draft", { timeout: "1h", fallback: null });
  expectTypeOf(typed).toEqualTypeOf<Draft | null>();
  const plain = await ctx.receive<Draft>("draft", { timeout: "1h" });
  expectTypeOf(plain).toEqualTypeOf<Draft>();
});

const flow = durable("flow", (_ctx, input: Draft) => input.topic);
const app = createApp({ workflows: [flow], storage: new MemoryStorage(), bind: false });
// @ts-expect-error no such workflow
void app.start("flo", { topic: "x" });
// @ts-expect-error another input
void app.start("flow", { topic: 5 });
// @ts-expect-error no input
void flow.run();
// @ts-expect-error a reason is an option
void app.cancel("r", "not needed");
// @ts-expect-error a reason is an option
void app.get("r").pause("not needed");
// @ts-expect-error it is resume with drive: false
void app.deliver("token", true);
// @ts-expect-error it is repeated
void app.get("r").created;
// @ts-expect-error it is unpause
void app.schedules.resume("daily");
// @ts-expect-error it is quotas
createApp({ workflows: [flow], limits: { openai: { requests: 1 } } });
// @ts-expect-error it is max
durable("many", () => 1, { concurrency: { limit: 7 } });
// @ts-expect-error it is max
durable("often", () => 1, { rate: { limit: 7, per: "1s" } });
durable("asks", async (ctx) => {
  // @ts-expect-error it is quota
  await ctx.step("model", () => 1, { limit: "openai" });
  // @ts-expect-error a date is not a duration
  await ctx.step("model", () => 1, { timeout: new Date() });
});
durable("many", () => 1, { concurrency: 7, deadline: new Date(0) });
