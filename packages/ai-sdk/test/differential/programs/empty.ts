import type { Bench, Program } from "../program.ts";
import { generated, partsIn, shown, streamed } from "../watch.ts";

const prompt = "How warm is it?";
const start = { type: "stream-start", warnings: [] };
const text = (delta?: string) => [
  { type: "text-start", id: "a" },
  ...(delta === undefined ? [] : [{ type: "text-delta", id: "a", delta }]),
  { type: "text-end", id: "a" },
];

const inStream = (bench: Bench, parts: readonly { readonly type: string }[], finish = "stop") =>
  streamed(bench, { model: bench.model([{ parts, finish }]), prompt });

export const empty: readonly Program[] = [
  {
    name: "an answer of no words",
    run: ({ sdk, model }) => generated(() => sdk.generateText({ model: model([{ text: "" }]), prompt })),
  },
  {
    name: "an answer of nothing",
    run: ({ sdk, model }) => generated(() => sdk.generateText({ model: model([{}]), prompt })),
  },
  { name: "a stream of nothing but a finish", run: (bench) => inStream(bench, [start, { type: "finish" }]) },
  {
    name: "a stream of a text without words",
    run: (bench) => inStream(bench, [start, ...text(), { type: "finish" }]),
  },
  {
    name: "a stream of a text with an empty delta",
    run: (bench) => inStream(bench, [start, ...text(""), { type: "finish" }]),
  },
  {
    name: "a stream that was filtered",
    run: (bench) => inStream(bench, [start, { type: "finish" }], "content-filter"),
  },
  {
    name: "a stream of nothing in a browser",
    run: (bench) => shown(bench, { model: bench.model([{ parts: [start, { type: "finish" }] }]), prompt }),
  },
  {
    name: "a stream of nothing, read without the SDK",
    run: async ({ model }) => {
      const call = { prompt: [{ role: "user", content: [{ type: "text", text: prompt }] }] };
      const { stream } = await model([{ parts: [start, { type: "finish" }] }]).doStream(call as never);
      const { parts, ...end } = await partsIn(stream as AsyncIterable<unknown>);
      // A recorded stream always has the id and the time of its response.
      return {
        ...end,
        parts: parts.filter((part) => (part as { type: string }).type !== "response-metadata"),
      };
    },
  },
  {
    name: "a stream without a start",
    run: (bench) => inStream(bench, [...text("Warm."), { type: "finish" }]),
  },
  {
    name: "reasoning without words, then words",
    run: (bench) =>
      inStream(bench, [
        start,
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-end", id: "r" },
        ...text("Warm."),
        { type: "finish" },
      ]),
  },
];
