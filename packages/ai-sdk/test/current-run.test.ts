/** Agents that are defined once, at module level: their models and tools find the run in which they are called. */

import { AsyncLocalStorage } from "node:async_hooks";
import { durable, Journal, MemoryStorage, type Context } from "@durable/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { durableModel, durableProvider, durableTools } from "../src/index.ts";
import { fakeModel } from "./support/fake-model.ts";
import { Lab, waitOf } from "./support/lab.ts";
import { Provider } from "./support/provider.ts";
import { latest, versions, type Version } from "./support/versions.ts";

let server: Provider;
beforeAll(async () => {
  server = await Provider.open(({ question, results, number }) =>
    results > 0
      ? { text: `${question} is sunny, ${number}` }
      : { text: "", calls: [{ tool: "weather", input: { city: question }, id: `call_${number}` }] },
  );
});
afterAll(() => server.close());

/** What surrounds a call, and what a tool sees of it. */
const trace = new AsyncLocalStorage<string>();

function agentOf({ ai, models }: Version) {
  const seen: (string | undefined)[] = [];
  const model = durableModel(models.chat(server.url));
  const tools = durableTools({
    weather: ai.tool({
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }: { city: string }) => {
        seen.push(trace.getStore());
        return `sun over ${city}`;
      },
    }),
  });
  const ask = async (prompt: string): Promise<string> => {
    const { text } = await ai.generateText({ model, tools, prompt, stopWhen: ai.stepCountIs(3) });
    return text;
  };
  const stream = async (prompt: string): Promise<string> =>
    await ai.streamText({ model, tools, prompt, stopWhen: ai.stepCountIs(3) }).text;
  return { ask, stream, seen };
}

describe.each(versions.map((version) => [version.name, version] as const))("%s", (_, version) => {
  test.each(["ask", "stream"] as const)("%s: recorded in the run, and replayed from it", async (form) => {
    const agent = agentOf(version);
    const lab = new Lab();
    const body = () => trace.run("a span", () => agent[form]("Rome"));
    const before = server.requests.length;
    const live = await lab.drive(body);
    expect(server.requests.length - before).toBe(2);
    const replay = await lab.drive(body);
    expect(replay.value).toBe(live.value);
    expect(server.requests.length - before).toBe(2);
    // The caller's context is seen in the tool, which runs once.
    expect(agent.seen).toEqual(["a span"]);
    const keys = (await lab.entries()).flatMap((entry) =>
      entry.kind === "step.completed" ? [entry.key] : [],
    );
    expect(keys.some((key) => key.startsWith("weather call_"))).toBe(true);
  });

  test("outside of runs: the plain model and the plain tool", async () => {
    const agent = agentOf(version);
    expect(await trace.run("outside", () => agent.ask("Rome"))).toContain("Rome is sunny");
    expect(agent.seen).toEqual(["outside"]);
  });
});

test("a value of the caller is seen inside tools of a fresh life, too", async () => {
  const agent = agentOf(latest);
  const lab = new Lab();
  const body = async (ctx: Context) => {
    await ctx.step("before", () => 1);
    const first = await trace.run("one", () => agent.ask("Rome"));
    await ctx.suspend("go on");
    return `${first} ${await trace.run("two", () => agent.ask("Oslo"))}`;
  };
  const parked = await lab.drive(body);
  await lab.resume(body, waitOf(parked, "go on").token, null);
  expect(agent.seen).toEqual(["one", "two"]);
});

test("inside ctx.parallel each call is recorded in its branch", async () => {
  const agent = agentOf(latest);
  const lab = new Lab();
  const body = (ctx: Context) =>
    ctx.parallel({ a: () => agent.ask("Rome"), b: () => agent.stream("Oslo") }, { name: "cities" });
  const live = await lab.drive(body);
  const before = server.requests.length;
  expect((await lab.drive(body)).value).toEqual(live.value);
  expect(server.requests.length).toBe(before);
  const keys = (await lab.entries()).flatMap((entry) => ("key" in entry ? [entry.key] : []));
  for (const branch of ["a", "b"])
    expect(keys.filter((key) => key.startsWith(`cities[${branch}]/`)).length).toBeGreaterThan(2);
});

test("inside a step nothing is recorded: the result of the step is", async () => {
  const agent = agentOf(latest);
  const lab = new Lab();
  const body = (ctx: Context) => ctx.step("whole", () => agent.ask("Rome"));
  const live = await lab.drive(body);
  expect((await lab.drive(body)).value).toBe(live.value);
  const keys = (await lab.entries()).flatMap((entry) => (entry.kind === "step.completed" ? [entry.key] : []));
  expect(keys).toEqual(["whole"]);
});

test("a tool that asks for approval is refused where no run can wait", async () => {
  const pay = { execute: () => "paid" };
  const tools = durableTools({ pay }, { pay: { approve: true } });
  const call = () => tools.pay.execute();
  expect(call).toThrow('Tool "pay" has the option approve, which needs a workflow');
});

test("a provider without a context gives models that find their run", async () => {
  const model = fakeModel((_, number) => `answer ${number}`);
  const provider = durableProvider({ languageModel: () => model });
  const lab = new Lab();
  const body = async () =>
    (await latest.ai.generateText({ model: provider.languageModel(), prompt: "?" })).text;
  expect((await lab.drive(body)).value).toBe("answer 1");
  expect((await lab.drive(body)).value).toBe("answer 1");
});

test("the explicit form wins: a journal is used although a run is under way", async () => {
  const storage = new MemoryStorage();
  const journal = await Journal.open("j", { storage });
  const model = fakeModel((_, number) => `answer ${number}`);
  const flow = durable(
    "flow",
    async () => (await latest.ai.generateText({ model: durableModel(journal, model), prompt: "?" })).text,
    { storage },
  );
  const outcome = await flow.run(undefined, { id: "r" });
  expect(outcome).toMatchObject({ status: "completed", output: "answer 1" });
  expect(journal.entries().length).toBeGreaterThan(0);
});
