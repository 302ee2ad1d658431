import { z } from "zod";
import type { Bench, Program } from "../program.ts";
import { Callbacks, generated, partsIn, shown, streamed } from "../watch.ts";
import type { Turn } from "../scripted.ts";

const prompt = "How warm is it?";
const inputSchema = z.object({ city: z.string() });

const look = ({ sdk, ran }: Bench) =>
  sdk.tool({
    description: "Looks it up.",
    inputSchema,
    execute: ({ city }: { city: string }) => {
      ran();
      return { city, degrees: city.length, at: new Date(0) };
    },
  });

const call = (id: string, city: string, tool = "look") => ({ id, tool, input: { city } });
const one: readonly Turn[] = [{ text: "Let me look.", calls: [call("c1", "Rome")] }, { text: "It is warm." }];
const two: readonly Turn[] = [
  { calls: [call("c1", "Rome"), call("c2", "Oslo")] },
  { text: "Once more.", calls: [call("c3", "Bern")] },
  { text: "Warm, cold, in between." },
];

const agent = (bench: Bench, turns: readonly Turn[], more: object = {}): never =>
  ({
    model: bench.model(turns),
    prompt,
    tools: bench.tools({ look: look(bench) }),
    stopWhen: bench.sdk.stepCountIs(5),
    ...more,
  }) as never;

const classOf = ({ sdk, major }: Bench) =>
  (major === 5 ? sdk.Experimental_Agent : sdk.ToolLoopAgent) as unknown as new (settings: object) => {
    generate(options: object): Promise<object>;
    stream(options: object): PromiseLike<{ readonly fullStream: AsyncIterable<unknown> }>;
  };

export const agents: readonly Program[] = [
  { name: "one tool", run: (bench) => generated(() => bench.sdk.generateText(agent(bench, one))) },
  {
    name: "tools at once, over three turns",
    run: (bench) => generated(() => bench.sdk.generateText(agent(bench, two))),
  },
  { name: "one tool, streamed", run: (bench) => streamed(bench, agent(bench, one)) },
  { name: "tools at once, over three turns, streamed", run: (bench) => streamed(bench, agent(bench, two)) },
  { name: "tools as a browser sees them", run: (bench) => shown(bench, agent(bench, two)) },
  {
    name: "stopped after one turn",
    run: (bench) => streamed(bench, agent(bench, two, { stopWhen: bench.sdk.stepCountIs(1) })),
  },
  {
    name: "stopped by a tool",
    run: (bench) =>
      generated(() => bench.sdk.generateText(agent(bench, two, { stopWhen: bench.sdk.hasToolCall("look") }))),
  },
  {
    name: "steps that are prepared",
    run: async (bench) => {
      const asked: unknown[] = [];
      const prepareStep = ({ stepNumber }: { stepNumber: number }) => {
        asked.push(stepNumber);
        return stepNumber === 0 ? { toolChoice: "required" } : { activeTools: [] };
      };
      return {
        result: await generated(() => bench.sdk.generateText(agent(bench, one, { prepareStep }))),
        asked,
      };
    },
  },
  {
    name: "another model for the second step",
    run: (bench) => {
      const other = bench.model([{ text: "never" }, { text: "Says the other." }]);
      const prepareStep = ({ stepNumber }: { stepNumber: number }) =>
        stepNumber === 0 ? {} : { model: other };
      return streamed(bench, agent(bench, one, { prepareStep }));
    },
  },
  {
    name: "the agent class, whole",
    run: (bench) => {
      const { prompt: _, ...settings } = agent(bench, two) as { prompt: string };
      return generated(() => new (classOf(bench))(settings).generate({ prompt }));
    },
  },
  {
    name: "the agent class, streamed",
    run: async (bench) => {
      const { prompt: _, ...settings } = agent(bench, two) as { prompt: string };
      const result = await new (classOf(bench))(settings).stream({ prompt });
      return partsIn(result.fullStream);
    },
  },
  {
    name: "two agents at once",
    run: (bench) =>
      Promise.all([
        streamed(bench, agent(bench, one, { prompt: "First?" })),
        generated(() => bench.sdk.generateText(agent(bench, two, { prompt: "Second?" }))),
      ]),
  },
  {
    name: "a tool of the provider",
    run: (bench) => {
      const result = { type: "tool-result", toolCallId: "p1", toolName: "search", result: { hits: 3 } };
      const more = { providerExecuted: true, ...(bench.major === 5 ? {} : { dynamic: true }) };
      const content = [
        { type: "tool-call", toolCallId: "p1", toolName: "search", input: "{}", ...more },
        { ...result, ...more },
      ];
      return streamed(bench, agent(bench, [{ content, text: "Three hits.", finish: "stop" }]));
    },
  },
  {
    name: "callbacks of an agent",
    run: async (bench) => {
      const { log, options } = new Callbacks();
      const result = await generated(() => bench.sdk.generateText(agent(bench, two, options)));
      return { result, log };
    },
  },
];
