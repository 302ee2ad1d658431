import { z } from "zod";
import type { Bench, Program } from "../program.ts";
import { generated, shown, streamed } from "../watch.ts";
import type { Turn } from "../scripted.ts";

const inputSchema = z.object({ n: z.number() });
const user = { role: "user", content: "Pay 40." } as const;
const pays: Turn = { text: "I will pay.", calls: [{ id: "c1", tool: "pay", input: { n: 40 } }] };

interface Message {
  readonly role: string;
  readonly content: unknown;
}

interface Request {
  readonly type: string;
  readonly approvalId: string;
  readonly toolCall: { readonly toolCallId: string };
}

const pay = ({ sdk, ran }: Bench, needsApproval: unknown = true) =>
  sdk.tool({
    inputSchema,
    needsApproval,
    execute: ({ n }: { n: number }) => (ran(), `paid ${n}`),
  } as never) as object;

/** The call in two parts, as the SDK means it: with a person's answer between them. */
async function inTwoParts(bench: Bench, approved: boolean, streams = false): Promise<unknown> {
  const model = bench.model([pays, { text: "Done." }]);
  const ask = async (messages: readonly Message[]) => {
    const options = {
      model,
      messages,
      tools: bench.tools({ pay: pay(bench) }),
      stopWhen: bench.sdk.stepCountIs(3),
    };
    if (!streams) return bench.sdk.generateText(options as never);
    const result = bench.sdk.streamText(options as never);
    return { content: await result.content, response: await result.response, text: await result.text };
  };
  const first = await ask([user]);
  const request = (first.content as unknown as Request[]).find(
    ({ type }) => type === "tool-approval-request",
  );
  const answer = await bench.wait("answer", { approved, reason: "said so" });
  const response = { type: "tool-approval-response", approvalId: request?.approvalId, ...answer };
  const second = await ask([
    user,
    ...(first.response.messages as Message[]),
    { role: "tool", content: [response] },
  ]);
  return { first: first.content, text: second.text, messages: second.response.messages };
}

const sdk67 = [6, 7] as const;

export const approvals: readonly Program[] = [
  {
    name: "a call that needs approval",
    versions: sdk67,
    run: (bench) =>
      generated(() =>
        bench.sdk.generateText({
          model: bench.model([pays]),
          messages: [user],
          tools: bench.tools({ pay: pay(bench) }),
        } as never),
      ),
  },
  {
    name: "a call that needs approval, streamed",
    versions: sdk67,
    run: (bench) =>
      streamed(bench, {
        model: bench.model([pays]),
        messages: [user],
        tools: bench.tools({ pay: pay(bench) }),
      }),
  },
  {
    name: "a call that needs approval, in a browser",
    versions: sdk67,
    run: (bench) =>
      shown(bench, { model: bench.model([pays]), messages: [user], tools: bench.tools({ pay: pay(bench) }) }),
  },
  {
    name: "a call that needs no approval, by its input",
    versions: sdk67,
    run: (bench) =>
      streamed(bench, {
        model: bench.model([pays, { text: "Done." }]),
        messages: [user],
        tools: bench.tools({ pay: pay(bench, ({ n }: { n: number }) => n > 50) }),
        stopWhen: bench.sdk.stepCountIs(3),
      }),
  },
  { name: "approved across a wait", versions: sdk67, run: (bench) => inTwoParts(bench, true) },
  { name: "denied across a wait", versions: sdk67, run: (bench) => inTwoParts(bench, false) },
  {
    name: "approved across a wait, streamed",
    versions: sdk67,
    run: (bench) => inTwoParts(bench, true, true),
  },
  {
    name: "approved by a function",
    versions: [7],
    run: (bench) =>
      streamed(bench, {
        model: bench.model([pays, { text: "Done." }]),
        messages: [user],
        tools: bench.tools({ pay: pay(bench, false) }),
        toolApproval: { pay: async () => ({ type: await bench.wait("answer", "approved") }) },
        stopWhen: bench.sdk.stepCountIs(3),
      }),
  },
  {
    name: "denied by a function",
    versions: [7],
    run: (bench) =>
      streamed(bench, {
        model: bench.model([pays, { text: "Not paid." }]),
        messages: [user],
        tools: bench.tools({ pay: pay(bench, false) }),
        toolApproval: {
          pay: async () => ({ type: await bench.wait("answer", "denied"), reason: "too much" }),
        },
        stopWhen: bench.sdk.stepCountIs(3),
      }),
  },
];
