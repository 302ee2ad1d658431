/** The types of an app: names, inputs and outputs of its workflows. Checked by `npm run types`. */

import { expectTypeOf } from "vitest";
import * as z from "zod";
import {
  createApp,
  createWorker,
  durable,
  Journal,
  type AnyWorkflow,
  type App,
  type Outcome,
  type Run,
  type Workflow,
} from "../src/index.ts";

const echo = durable("echo", async (_ctx, input: { topic: string }) => input.topic.length);
const none = durable("none", async (ctx) => ctx.step("one", () => true));
const checked = durable("checked", async (_ctx, { days }) => `${days}`, {
  input: z.object({ days: z.number().default(1) }),
  messages: { more: z.number() },
});
const app = createApp({ workflows: [echo, none, checked] });

async function byWorkflow(): Promise<void> {
  expectTypeOf(await app.run(echo, { topic: "a" })).toEqualTypeOf<Outcome<number>>();
  expectTypeOf(await app.run(none)).toEqualTypeOf<Outcome<boolean>>();
  expectTypeOf(await app.start(echo, { topic: "a" }, { id: "1" })).toEqualTypeOf<
    Run<number, { topic: string }>
  >();
  const run = await app.start(checked, {});
  expectTypeOf(await run.result()).toEqualTypeOf<string>();
  await run.send("more", 1);
  // @ts-expect-error not a topic of the workflow
  await run.send("less", 1);
  const forked = await app.fork(echo, "r", { from: "one", input: { topic: "b" } });
  expectTypeOf(await forked.result()).toEqualTypeOf<number>();
  // @ts-expect-error the input is of another type
  await app.start(echo, { topic: 5 });
  // @ts-expect-error the input is missing
  await app.run(echo);
  // @ts-expect-error no such option
  await app.start(echo, { topic: "a" }, { ids: "1" });
}

async function byName(): Promise<void> {
  expectTypeOf(await app.run("echo", { topic: "a" })).toEqualTypeOf<Outcome<number>>();
  expectTypeOf(await app.run("none")).toEqualTypeOf<Outcome<boolean>>();
  const run = await app.start("checked", { days: 3 });
  expectTypeOf(await run.result()).toEqualTypeOf<string>();
  await run.send("more", 1);
  // @ts-expect-error not a workflow of the app
  await app.start("ech", { topic: "a" });
  // @ts-expect-error not a workflow of the app
  await app.run("ech", { topic: "a" });
  // @ts-expect-error the input is of another type
  await app.start("echo", { topic: 5 });
  // @ts-expect-error the input is missing
  await app.run("echo");
  // @ts-expect-error it has no name that is known only later
  await app.start(String(Math.random()), {});
}

/** An app whose workflows are not known has names and inputs that are data. */
async function anyApp(general: App, workflows: readonly AnyWorkflow[]): Promise<void> {
  expectTypeOf(await general.start("any", { topic: 5 })).toEqualTypeOf<Run>();
  expectTypeOf(await general.run("any")).toEqualTypeOf<Outcome<unknown>>();
  expectTypeOf(await general.run(echo, { topic: "a" })).toEqualTypeOf<Outcome<number>>();
  await createApp({ workflows }).start("any", 1, { id: "a" });
  const wide: Workflow<string, number> = durable("wide", async (_ctx, text: string) => text.length);
  const mixed = createApp({ workflows: [wide, echo] });
  expectTypeOf(await (await mixed.start("any", "text")).result()).toEqualTypeOf<number>();
}

/** Every app is an `App`. */
createWorker(app);
void Journal.open("j", { app });
void anyApp(app, [echo]);
void anyApp(createApp({ workflows: [] }), [echo]);
expectTypeOf(app).toExtend<App>();
expectTypeOf(createApp({ workflows: [echo] })).toExtend<App>();
expectTypeOf(echo).toExtend<Workflow<{ topic: string }, number>>();
expectTypeOf(echo.with({ version: "2" })).toEqualTypeOf(echo);
// @ts-expect-error not an app
void Journal.open("j", { app: "app" });
// @ts-expect-error true or false
createApp({ workflows: [], bind: "no" });
void byWorkflow;
void byName;
