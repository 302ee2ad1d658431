import type { Context } from "@durable/core";
import { isStepCount, streamText, tool, type ToolSet } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  durableApproval,
  durableCall,
  durableModel,
  durableTools,
  type ApprovalRequest,
} from "../src/index.ts";
import { fakeModel, finish, type Call, type FakeModel, type StreamPart } from "./support/fake-model.ts";
import { Lab, waitOf } from "./support/lab.ts";

type Wanted = { readonly tool: string; readonly id: string; readonly input?: unknown };

/** Makes the given calls, turn by turn, and then reports the results. */
function caller(turns: readonly (readonly Wanted[])[]): FakeModel {
  return fakeModel((call) => {
    const turn = call.prompt.filter(({ role }) => role === "assistant").length;
    const wanted = turns[turn];
    if (wanted === undefined) return said(resultsIn(call));
    return [
      { type: "stream-start", warnings: [] },
      ...wanted.map(({ tool, id, input = {} }): StreamPart => ({
        type: "tool-call",
        toolCallId: id,
        toolName: tool,
        input: JSON.stringify(input),
      })),
      finish("tool-calls"),
    ];
  });
}

const said = (text: string): StreamPart[] => [
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: text },
  { type: "text-end", id: "0" },
  finish(),
];

/** Everything tools have answered, as the model sees it. */
function resultsIn({ prompt }: Call): string {
  const outputs = prompt.flatMap(({ role, content }) =>
    role === "tool" ? content.flatMap((part) => (part.type === "tool-result" ? [part.output] : [])) : [],
  );
  return outputs.map((output) => JSON.stringify("value" in output ? output.value : output)).join(" ");
}

const input = z.object({ n: z.number().optional() });

/** An agent with these tools, and what it said last. */
const agent =
  (model: FakeModel, toolsOf: (ctx: Context) => ToolSet) =>
  async (ctx: Context): Promise<string> => {
    const tools = toolsOf(ctx);
    const stopWhen = isStepCount(6);
    return streamText({ model: durableModel(ctx, model), prompt: "?", tools, stopWhen, onError: () => {} })
      .text;
  };

test("each call runs once, side by side, under a key of its own that stays the same", async () => {
  const lab = new Lab();
  const keys: string[] = [];
  const add = tool({
    inputSchema: input,
    execute: ({ n = 0 }, options) => {
      keys.push(durableCall(options).idempotencyKey ?? "none");
      return n + 1;
    },
  });
  const model = caller([
    [
      { tool: "add", id: "a", input: { n: 1 } },
      { tool: "add", id: "b", input: { n: 2 } },
    ],
  ]);
  const body = agent(model, (ctx) => durableTools(ctx, { add }));
  expect((await lab.drive(body)).value).toBe("2 3");
  expect((await lab.drive(body)).value).toBe("2 3");
  expect(new Set(keys).size).toBe(2);
  expect(keys).toHaveLength(2);
  const names = (await lab.entries()).flatMap((entry) => (entry.kind === "step.completed" ? entry.key : []));
  expect(names).toEqual(["add a", "add b"]);
  expect(lab.warnings).toEqual([]);
});

test("a model that uses one id for every call gets every result", async () => {
  const lab = new Lab();
  let runs = 0;
  const add = tool({ inputSchema: input, execute: ({ n = 0 }) => (runs++, n + 1) });
  const turn = (n: number): Wanted => ({ tool: "add", id: "call_0", input: { n } });
  const model = caller([[turn(1)], [turn(5)], [turn(1), turn(7)]]);
  const body = agent(model, (ctx) => durableTools(ctx, { add }));
  expect((await lab.drive(body)).value).toBe("2 6 2 8");
  expect((await lab.drive(body)).value).toBe("2 6 2 8");
  expect(runs).toBe(4);
});

test("an error reaches the model unchanged, and is recorded; it is retried only on request", async () => {
  const lab = new Lab();
  const runs = { fragile: 0, stubborn: 0 };
  const fragile = tool({
    inputSchema: input,
    execute: (): string => {
      runs.fragile += 1;
      throw new RangeError("the harbour is closed");
    },
  });
  const stubborn = tool({
    inputSchema: input,
    execute: () => {
      if (++runs.stubborn < 3) throw new Error("not yet");
      return "at last";
    },
  });
  const model = caller([
    [
      { tool: "fragile", id: "a" },
      { tool: "stubborn", id: "b" },
    ],
  ]);
  const retry = { attempts: 5, delay: 1 };
  const body = agent(model, (ctx) => durableTools(ctx, { fragile, stubborn }, { stubborn: { retry } }));
  expect((await lab.drive(body)).value).toBe('"RangeError: the harbour is closed" "at last"');
  expect((await lab.drive(body)).value).toBe('"RangeError: the harbour is closed" "at last"');
  expect(runs).toEqual({ fragile: 1, stubborn: 3 });
});

test("other arguments under a recorded id stop the run", async () => {
  const lab = new Lab();
  const add = tool({ inputSchema: input, execute: ({ n = 0 }) => n });
  const direct =
    (n: number) =>
    async (ctx: Context): Promise<unknown> =>
      durableTools(ctx, { add }).add.execute?.(
        { n },
        { toolCallId: "a", messages: [], context: undefined as never },
      );
  expect((await lab.drive(direct(1))).value).toBe(1);
  const { outcome } = await lab.drive(direct(2));
  expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
});

test("a generator shows what it has on the way; the last value is recorded", async () => {
  const lab = new Lab();
  let runs = 0;
  const count = tool({
    inputSchema: input,
    async *execute() {
      runs += 1;
      for (let n = 1; n <= 3; n++) yield { n };
    },
  });
  const model = caller([[{ tool: "count", id: "a" }]]);
  const body = async (ctx: Context): Promise<unknown[]> => {
    const tools = durableTools(ctx, { count });
    const result = streamText({
      model: durableModel(ctx, model),
      prompt: "?",
      tools,
      stopWhen: isStepCount(3),
    });
    const outputs: unknown[] = [];
    for await (const part of result.fullStream)
      if (part.type === "tool-result") outputs.push([part.preliminary ?? false, part.output]);
    return outputs;
  };
  const [live, replay] = [await lab.drive(body), await lab.drive(body)];
  expect(live.value).toEqual([
    [true, { n: 1 }],
    [true, { n: 2 }],
    [true, { n: 3 }],
    [false, { n: 3 }],
  ]);
  expect(replay.value).toEqual([
    [true, { n: 3 }],
    [false, { n: 3 }],
  ]);
  expect(runs).toBe(1);
});

test("H8 a tool may wait for an answer: the run parks, and the model gets nothing", async () => {
  const lab = new Lab();
  const ask = tool({
    inputSchema: input,
    execute: async ({ n }, options) => {
      const { ctx } = durableCall(options);
      return ctx?.suspend<string>("answer", { note: `question ${n}` });
    },
  });
  const model = caller([
    [
      { tool: "ask", id: "a", input: { n: 1 } },
      { tool: "ask", id: "b", input: { n: 2 } },
    ],
  ]);
  const body = agent(model, (ctx) => durableTools(ctx, { ask }, { ask: { suspends: true } }));
  const parked = await lab.drive(body);
  expect(parked.value).toBeUndefined();
  expect(waitOf(parked, "ask a[call]/answer").note).toBe("question 1");
  await lab.resume(body, waitOf(parked, "ask b[call]/answer").token, "second");
  await lab.resume(body, waitOf(parked, "ask a[call]/answer").token, "first");
  expect((await lab.drive(body)).value).toBe('"first" "second"');
  expect(model.calls).toHaveLength(2);
});

describe("approval", () => {
  const paying = (runs: { count: number }) =>
    tool({ inputSchema: input, execute: ({ n = 0 }) => (runs.count++, `paid ${n}`) });
  const wanted = [[{ tool: "pay", id: "a", input: { n: 40 } }]];

  test.each([
    [true, '"paid 40"', 1],
    [{ approved: false, reason: "too much" }, '"Error: The call of pay was not approved: too much."', 0],
  ])("by option: %o", async (answer, end, count) => {
    const lab = new Lab();
    const runs = { count: 0 };
    const model = caller(wanted);
    const body = agent(model, (ctx) => durableTools(ctx, { pay: paying(runs) }, { pay: { approve: true } }));
    const parked = await lab.drive(body);
    const wait = waitOf(parked, "approval pay a ");
    expect(wait.note).toEqual({
      question: 'Call pay with {"n":40}?',
      tool: "pay",
      toolCallId: "a",
      input: { n: 40 },
    });
    expect(runs.count).toBe(0);
    expect(await lab.resume(body, wait.token, { approved: "yes" })).toBe("invalid");
    expect(await lab.resume(body, wait.token, answer)).toBe("accepted");
    expect((await lab.drive(body)).value).toBe(end);
    expect(runs.count).toBe(count);
    expect(model.calls).toHaveLength(2);
  });

  test("the person is told once, with a token that answers the wait", async () => {
    const lab = new Lab();
    const runs = { count: 0 };
    const told: ApprovalRequest[] = [];
    const approve = { notify: (call: ApprovalRequest) => told.push(call) };
    const body = agent(caller(wanted), (ctx) =>
      durableTools(ctx, { pay: paying(runs) }, { pay: { approve } }),
    );
    await lab.drive(body);
    await lab.drive(body);
    expect(told).toEqual([
      { tool: "pay", toolCallId: "a", input: { n: 40 }, token: expect.any(String) as string },
    ]);
    expect(await lab.resume(body, told[0]?.token ?? "", true)).toBe("accepted");
    expect((await lab.drive(body)).value).toBe('"paid 40"');
    expect([told.length, runs.count]).toEqual([1, 1]);
  });

  test("only where the arguments require it, and denied without an answer in time", async () => {
    const runs = { count: 0 };
    const lab = new Lab();
    const approve = (given: unknown): boolean => (given as { n: number }).n > 10;
    const small = caller([[{ tool: "pay", id: "a", input: { n: 4 } }]]);
    const tools = (ctx: Context) => durableTools(ctx, { pay: paying(runs) }, { pay: { approve } });
    expect((await lab.drive(agent(small, tools))).value).toBe('"paid 4"');
    const late = new Lab();
    const body = agent(caller(wanted), (ctx) =>
      durableTools(ctx, { pay: paying(runs) }, { pay: { approve: { timeout: 1 } } }),
    );
    await late.drive(body);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await late.drive(body)).value).toContain("no answer in time");
    expect(runs.count).toBe(1);
  });

  test("an answer counts for its call and its arguments alone", async () => {
    const lab = new Lab();
    const runs = { count: 0 };
    const body = (n: number) =>
      agent(caller([[{ tool: "pay", id: "a", input: { n } }]]), (ctx) =>
        durableTools(ctx, { pay: paying(runs) }, { pay: { approve: true } }),
      );
    const other = new Lab();
    const [forty, fifty] = [await lab.drive(body(40)), await other.drive(body(50))];
    const keys = [forty, fifty].map((driven) => waitOf(driven, "approval pay a ").key);
    expect(new Set(keys).size).toBe(2);
  });

  test.each([
    ["approved", true, '"paid 40"', 1],
    ["denied", false, "execution-denied", 0],
  ])("by toolApproval of the SDK: %s", async (_, answer, end, count) => {
    const lab = new Lab();
    const runs = { count: 0 };
    const model = caller(wanted);
    const body = async (ctx: Context): Promise<string> => {
      const result = streamText({
        model: durableModel(ctx, model),
        prompt: "?",
        tools: durableTools(ctx, { pay: paying(runs) }),
        toolApproval: { pay: durableApproval(ctx, "pay") },
        stopWhen: isStepCount(4),
      });
      return result.text;
    };
    const parked = await lab.drive(body);
    await lab.resume(body, waitOf(parked, "approval pay a ").token, answer);
    const { value } = await lab.drive(body);
    expect(value).toContain(end);
    expect(runs.count).toBe(count);
    expect(model.calls).toHaveLength(2);
  });
});

test("tools without execute are left as they are", () => {
  const tools = { ask: tool({ inputSchema: input }) };
  expect(durableTools({ runId: "r", continueAs: true } as unknown as Context, tools).ask).toBe(tools.ask);
});
