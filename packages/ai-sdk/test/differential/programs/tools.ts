import { z } from "zod";
import type { Bench, Program } from "../program.ts";
import { generated, streamed } from "../watch.ts";
import type { Turn } from "../scripted.ts";

const prompt = "Do it.";
const inputSchema = z.object({ n: z.number() });
const call = (id: string, tool: string, input: unknown = { n: 1 }, more: object = {}) => ({
  id,
  tool,
  input,
  more,
});

const options = (bench: Bench, turns: readonly Turn[], tools: Record<string, object>, more: object = {}) =>
  ({
    model: bench.model(turns),
    prompt,
    tools: bench.tools(tools),
    stopWhen: bench.sdk.stepCountIs(4),
    ...more,
  }) as never;

const both = async (bench: Bench, turns: readonly Turn[], toolsOf: () => Record<string, object>) => ({
  whole: await generated(() =>
    bench.sdk.generateText(options(bench, turns, toolsOf(), { prompt: "Whole." })),
  ),
  streamed: await streamed(bench, options(bench, turns, toolsOf(), { prompt: "Streamed." })),
});

const failing = ({ sdk, ran }: Bench, error: () => unknown) =>
  sdk.tool({
    inputSchema,
    execute: (): string => {
      ran();
      throw error();
    },
  });

export const tools: readonly Program[] = [
  {
    name: "a tool that fails",
    run: (bench) =>
      both(bench, [{ calls: [call("c1", "fail")] }, { text: "It failed." }], () => ({
        fail: failing(bench, () => new RangeError("out of range", { cause: new Error("the deeper one") })),
      })),
  },
  {
    name: "a tool that throws a text",
    run: (bench) =>
      both(bench, [{ calls: [call("c1", "fail")] }, { text: "It failed." }], () => ({
        fail: failing(bench, () => "just a text"),
      })),
  },
  {
    name: "one tool fails, the other does not",
    run: (bench) =>
      both(bench, [{ calls: [call("c1", "fail"), call("c2", "add")] }, { text: "Half of it." }], () => ({
        fail: failing(bench, () => new Error("no")),
        add: bench.sdk.tool({ inputSchema, execute: ({ n }: { n: number }) => (bench.ran(), n + 1) }),
      })),
  },
  {
    name: "input that does not fit",
    run: (bench) =>
      both(bench, [{ calls: [call("c1", "add", { n: "one" })] }, { text: "Sorry." }], () => ({
        add: bench.sdk.tool({ inputSchema, execute: ({ n }: { n: number }) => (bench.ran(), n + 1) }),
      })),
  },
  {
    name: "input that is not JSON",
    run: (bench) =>
      both(bench, [{ calls: [call("c1", "add", "{n:")] }, { text: "Sorry." }], () => ({
        add: bench.sdk.tool({ inputSchema, execute: ({ n }: { n: number }) => (bench.ran(), n + 1) }),
      })),
  },
  {
    name: "a tool that does not exist",
    run: (bench) =>
      both(bench, [{ calls: [call("c1", "missing")] }, { text: "Sorry." }], () => ({
        add: bench.sdk.tool({ inputSchema, execute: ({ n }: { n: number }) => (bench.ran(), n + 1) }),
      })),
  },
  {
    name: "a repaired call",
    run: (bench) =>
      streamed(
        bench,
        options(
          bench,
          [{ calls: [call("c1", "add", { n: "one" })] }, { text: "Done." }],
          { add: bench.sdk.tool({ inputSchema, execute: ({ n }: { n: number }) => (bench.ran(), n + 1) }) },
          {
            experimental_repairToolCall: async ({ toolCall }: { toolCall: object }) => ({
              ...toolCall,
              input: '{"n":1}',
            }),
          },
        ),
      ),
  },
  {
    name: "a tool without execute",
    run: (bench) =>
      both(bench, [{ calls: [call("c1", "ask")] }], () => ({ ask: bench.sdk.tool({ inputSchema }) })),
  },
  {
    name: "a dynamic tool",
    run: (bench) =>
      both(bench, [{ calls: [call("c1", "any")] }, { text: "Done." }], () => ({
        any: bench.sdk.dynamicTool({
          description: "Anything.",
          inputSchema: z.unknown(),
          execute: async (input: unknown) => (bench.ran(), { got: input }),
        }),
      })),
  },
  {
    name: "a generator",
    differs: [{ why: "progress", in: ["next life"], without: ["preliminary", "parts", "log"] }],
    run: (bench) =>
      both(bench, [{ calls: [call("c1", "count")] }, { text: "Counted." }], () => ({
        count: bench.sdk.tool({
          inputSchema,
          async *execute() {
            bench.ran();
            yield { step: 1 };
            yield { step: 2 };
            yield { step: 3 };
          },
        }),
      })),
  },
  {
    name: "output of its own for the model",
    run: (bench) => {
      const answers: unknown[] = [];
      const add = bench.sdk.tool({
        inputSchema,
        execute: ({ n }: { n: number }) => (bench.ran(), { sum: n + 1, when: new Date(0) }),
        toModelOutput: (given: unknown) => {
          const { output } = bench.major === 5 ? { output: given } : (given as { output: unknown });
          answers.push(output);
          return { type: "text", value: `The sum is ${(output as { sum: number }).sum}.` };
        },
      });
      return both(bench, [{ calls: [call("c1", "add")] }, { text: "Two." }], () => ({ add })).then(
        (result) => ({ result, answers }),
      );
    },
  },
  {
    name: "callbacks of a tool's input",
    run: async (bench) => {
      const log: unknown[] = [];
      const add = bench.sdk.tool({
        inputSchema,
        onInputStart: ({ toolCallId }: { toolCallId: string }) => void log.push(["start", toolCallId]),
        onInputDelta: ({ inputTextDelta }: { inputTextDelta: string }) => void log.push(inputTextDelta),
        onInputAvailable: ({ input }: { input: unknown }) => void log.push(input),
        execute: ({ n }: { n: number }) => (bench.ran(), n + 1),
      });
      const turns = [{ calls: [call("c1", "add")] }, { text: "Two." }];
      return { result: await streamed(bench, options(bench, turns, { add })), log };
    },
  },
  {
    name: "results that are nothing, a list, bytes and a map of dates",
    run: (bench) => {
      const results = [null, [1, [2]], new Uint8Array([1, 2]), { at: new Date(0), none: null }];
      const give = bench.sdk.tool({
        inputSchema,
        execute: ({ n }: { n: number }) => (bench.ran(), results[n]),
      });
      const calls = results.map((_, n) => call(`c${n}`, "give", { n }));
      return both(bench, [{ calls }, { text: "All." }], () => ({ give }));
    },
  },
];
