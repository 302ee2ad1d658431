import { z } from "zod";
import type { Bench, Differs, Program } from "../program.ts";
import { generated, shown, streamed } from "../watch.ts";
import type { Answer, Turn } from "../scripted.ts";

const prompt = "How warm is it?";

const refused = ({ sdk }: Bench, statusCode: number, more: object = {}): Answer => ({
  throws: new sdk.APICallError({
    message: `status ${statusCode}`,
    url: "https://example.com/v1/chat",
    requestBodyValues: { prompt },
    statusCode,
    responseHeaders: { "retry-after-ms": "1" },
    responseBody: "{}",
    cause: new TypeError("the cause"),
    ...more,
  }),
});

/** What is not recorded of an error. */
const secrets: Differs = {
  why: "error-bodies",
  in: ["run"],
  without: ["requestBodyValues", "responseHeaders", "responseBody", "data", "isRetryable"],
};

/** The whole of a recorded stream is there at once, so the SDK reads the error before it has reported the words. */
const order: Differs = { why: "callback-order", in: ["next life"], versions: [7], without: ["log"] };
const retries: Differs = { why: "retries", in: ["run"], without: ["calls"] };

const thrice = (answer: Answer): Turn => [answer, answer, answer];

const both = async (bench: Bench, turns: readonly Turn[], more: object = {}) => ({
  whole: await generated(() =>
    bench.sdk.generateText({ model: bench.model(turns), prompt: "Whole.", ...more }),
  ),
  streamed: await streamed(bench, { model: bench.model(turns), prompt: "Streamed.", ...more }),
});

const half = (end: object): Answer => ({
  ...end,
  parts: [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "a" },
    { type: "text-delta", id: "a", delta: "It" },
    { type: "text-delta", id: "a", delta: " is" },
  ],
});

const failingPart = (error: unknown, finish = "error"): Answer => {
  const { parts = [] } = half({});
  return { finish, parts: [...parts, { type: "error", error }, { type: "finish" }] };
};

export const errors: readonly Program[] = [
  {
    name: "refused twice, then answered",
    run: (bench) => both(bench, [[refused(bench, 429), refused(bench, 503), { text: "Warm." }]]),
  },
  {
    name: "refused for good",
    differs: [
      secrets,
      {
        why: "retry-error",
        in: ["run"],
        without: ["name", "message", "isInstance", "cause", "fields", "errors"],
      },
    ],
    run: (bench) => both(bench, [[429, 429, 429].map((status) => refused(bench, status))]),
  },
  { name: "a bad request", differs: [secrets], run: (bench) => both(bench, [refused(bench, 400)]) },
  {
    name: "a server error without retries",
    differs: [secrets],
    run: async (bench) => {
      const model = bench.model([refused(bench, 500)], { retry: false });
      return [
        await generated(() => bench.sdk.generateText({ model, prompt, maxRetries: 0 })),
        await streamed(bench, { model, prompt, maxRetries: 0 }),
      ];
    },
  },
  {
    name: "an error that the SDK does not know",
    differs: [retries],
    run: (bench) =>
      both(bench, [{ throws: Object.assign(new RangeError("odd"), { code: "E_ODD" }) }], { maxRetries: 0 }),
  },
  {
    name: "a missing key",
    run: (bench) => both(bench, [{ throws: new bench.sdk.LoadAPIKeyError({ message: "no key" }) }]),
  },
  {
    name: "a stream that is cut after words",
    run: (bench) => {
      const cut = new TypeError("terminated", { cause: new Error("other side closed") });
      return streamed(bench, { model: bench.model([half({ cut })]), prompt });
    },
  },
  {
    name: "a stream that is cut after words, in a browser",
    run: (bench) =>
      shown(bench, { model: bench.model([half({ cut: new TypeError("terminated") })]), prompt }),
  },
  {
    name: "an error of the SDK cuts the stream after words",
    differs: [secrets],
    run: (bench) =>
      streamed(bench, { model: bench.model([half({ cut: refused(bench, 500).throws })]), prompt }),
  },
  {
    name: "an error part that is a plain object",
    differs: [order],
    run: (bench) =>
      streamed(bench, {
        model: bench.model([failingPart({ type: "overloaded", message: "try later", n: 1 })]),
        prompt,
      }),
  },
  {
    name: "an error part that is an error",
    differs: [order],
    run: (bench) =>
      streamed(bench, { model: bench.model([failingPart(new RangeError("overloaded"))]), prompt }),
  },
  {
    name: "an error part in a browser",
    differs: [order],
    run: (bench) => shown(bench, { model: bench.model([failingPart({ message: "try later" })]), prompt }),
  },
  {
    name: "an error part, and words after it",
    differs: [order],
    run: (bench) => {
      const { parts = [] } = half({});
      const more = [
        { type: "error", error: "a text" },
        { type: "text-delta", id: "a", delta: " warm" },
        { type: "text-end", id: "a" },
        { type: "finish" },
      ];
      return streamed(bench, { model: bench.model([{ parts: [...parts, ...more] }]), prompt });
    },
  },
  {
    name: "a stream that is always cut before its first word",
    differs: [retries],
    run: (bench) => {
      const parts = [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "a" },
      ];
      return streamed(bench, {
        model: bench.model([{ parts, cut: new TypeError("terminated") }].map(thrice)),
        prompt,
      });
    },
  },
  {
    name: "a stream that always begins with an error part",
    differs: [retries, { ...order, in: ["run", "next life"] }],
    run: (bench) => {
      const error = { type: "error", error: { message: "try later" } };
      const parts = [{ type: "stream-start", warnings: [] }, error, { type: "finish" }];
      return streamed(bench, { model: bench.model([{ parts, finish: "error" }].map(thrice)), prompt });
    },
  },
  {
    name: "a stream that ends without a finish",
    run: (bench) => streamed(bench, { model: bench.model([half({})]), prompt }),
  },
  {
    name: "a stream that the provider interrupts",
    versions: [6, 7],
    run: (bench) => {
      const { parts = [] } = half({});
      const end = [{ type: "text-end", id: "a" }, { type: "finish" }];
      return streamed(bench, {
        model: bench.model([{ finish: "interrupted", parts: [...parts, ...end] }]),
        prompt,
      });
    },
  },
  {
    name: "the second turn fails",
    differs: [secrets],
    run: (bench) => {
      const look = bench.sdk.tool({ inputSchema: z.object({}), execute: () => (bench.ran(), "found") });
      const turns = [{ text: "Let me look.", calls: [{ id: "c1", tool: "look" }] }, refused(bench, 400)];
      return both(bench, turns, { tools: bench.tools({ look }), stopWhen: bench.sdk.stepCountIs(3) });
    },
  },
  {
    name: "the second turn is cut after words",
    run: (bench) => {
      const look = bench.sdk.tool({ inputSchema: z.object({}), execute: () => (bench.ran(), "found") });
      const turns = [
        { text: "Let me look.", calls: [{ id: "c1", tool: "look" }] },
        half({ cut: new TypeError("terminated") }),
      ];
      return streamed(bench, {
        model: bench.model(turns),
        prompt,
        tools: bench.tools({ look }),
        stopWhen: bench.sdk.stepCountIs(3),
      });
    },
  },
  {
    name: "retries of the SDK's own for streams",
    differs: [order],
    versions: [7],
    run: (bench) =>
      streamed(bench, {
        model: bench.model([[failingPart({ message: "try later" }), { text: "It is warm." }]]),
        prompt,
        streamRetries: 1,
      }),
  },
];
