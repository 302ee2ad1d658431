import type { Program } from "../program.ts";
import { partsIn, shown, streamed } from "../watch.ts";

const prompt = "How warm is it?";
const source = { type: "source", sourceType: "url", id: "source-1", url: "https://example.com", title: "W" };

export const stream: readonly Program[] = [
  {
    name: "a streamed answer",
    run: (bench) => streamed(bench, { model: bench.model([{ text: "It is warm today." }]), prompt }),
  },
  {
    name: "a streamed answer without id, time and model",
    run: (bench) =>
      streamed(bench, { model: bench.model([{ text: "It is warm.", metadata: false }]), prompt }),
  },
  {
    name: "streamed reasoning, a source and provider metadata",
    run: (bench) =>
      streamed(bench, {
        model: bench.model([
          {
            reasoning: "Summer it is.",
            text: "Warm.",
            content: [source],
            providerMetadata: { scripted: { seed: 7 } },
          },
        ]),
        prompt,
      }),
  },
  {
    name: "a streamed file",
    run: async ({ sdk, model, major }) => {
      const bytes = new Uint8Array([137, 80, 78, 71]);
      const data = major === 7 ? { type: "data", data: bytes } : bytes;
      const content = [{ type: "file", mediaType: "image/png", data }];
      const result = sdk.streamText({ model: model([{ text: "Look:", content }]), prompt });
      const files = (await result.files).map(({ mediaType, base64, uint8Array }) => [
        mediaType,
        base64,
        uint8Array,
      ]);
      return { files, text: await result.text };
    },
  },
  {
    name: "bodies of request and response of a stream",
    differs: [{ why: "bodies", in: ["next life"], without: ["body"] }],
    run: (bench) =>
      streamed(bench, {
        model: bench.model([{ text: "Warm.", bodies: true }]),
        prompt,
        experimental_include: { requestBody: true },
        include: { requestBody: true },
      }),
  },
  {
    name: "only its text",
    run: async ({ sdk, model }) => {
      const result = sdk.streamText({ model: model([{ text: "It is warm today." }]), prompt });
      return { ...(await partsIn(result.textStream)), text: await result.text };
    },
  },
  {
    name: "two text blocks, and metadata on deltas",
    run: (bench) => {
      const parts = [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "a", providerMetadata: { scripted: { item: 1 } } },
        { type: "text-delta", id: "a", delta: "One" },
        { type: "text-delta", id: "a", delta: " two", providerMetadata: { scripted: { item: 2 } } },
        { type: "text-end", id: "a", providerMetadata: { scripted: { item: 3 } } },
        { type: "text-start", id: "b" },
        { type: "text-delta", id: "b", delta: "three" },
        { type: "text-end", id: "b" },
        { type: "finish" },
      ];
      return streamed(bench, { model: bench.model([{ parts }]), prompt });
    },
  },
  {
    name: "raw chunks",
    run: (bench) => {
      const parts = [
        { type: "stream-start", warnings: [] },
        { type: "raw", rawValue: { event: "first", n: 1 } },
        { type: "text-start", id: "a" },
        { type: "text-delta", id: "a", delta: "One" },
        { type: "raw", rawValue: { event: "second", when: null } },
        { type: "text-end", id: "a" },
        { type: "finish" },
      ];
      const model = bench.model([{ parts }]);
      return streamed(bench, { model, prompt, includeRawChunks: true, include: { rawChunks: true } });
    },
  },
  {
    name: "deltas of no words among others",
    run: (bench) => {
      const parts = [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "a" },
        { type: "text-delta", id: "a", delta: "" },
        { type: "text-delta", id: "a", delta: "One" },
        { type: "text-delta", id: "a", delta: "" },
        { type: "text-end", id: "a" },
        { type: "finish" },
      ];
      return streamed(bench, { model: bench.model([{ parts }]), prompt });
    },
  },
  {
    name: "counted ids of text",
    differs: [{ why: "text-ids", in: ["run"], without: ["textId"] }],
    run: async ({ sdk, model }) => {
      const parts = [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "0" },
        { type: "text-delta", id: "0", delta: "One" },
        { type: "text-end", id: "0" },
        { type: "finish" },
      ];
      const result = sdk.streamText({ model: model([{ parts }]), prompt });
      const seen: object[] = [];
      for await (const part of result.fullStream)
        if (part.type.startsWith("text-"))
          seen.push({ type: part.type, textId: (part as { id?: string }).id });
      return seen;
    },
  },
  {
    name: "stopped by a transform",
    run: (bench) => {
      let words = 0;
      return streamed(bench, {
        model: bench.model([{ text: "It is warm today and it will be warm tomorrow." }]),
        prompt,
        experimental_transform: ({ stopStream }: { stopStream: () => void }) =>
          new TransformStream<{ type: string }, unknown>({
            transform: (chunk, to) => {
              to.enqueue(chunk);
              if (chunk.type !== "text-delta" || ++words < 3) return;
              stopStream();
              to.enqueue({ type: "finish-step", finishReason: "stop", usage: {}, response: {} });
              to.enqueue({ type: "finish", finishReason: "stop", totalUsage: {} });
            },
          }),
      });
    },
  },
  {
    name: "smoothed by a transform",
    run: (bench) =>
      streamed(bench, {
        model: bench.model([{ text: "It is warm today." }]),
        prompt,
        experimental_transform: bench.sdk.smoothStream({ delayInMs: null }),
      }),
  },
  {
    name: "what a browser gets",
    run: (bench) =>
      shown(bench, {
        model: bench.model([{ reasoning: "Hm.", text: "It is warm today.", content: [source] }]),
        prompt,
      }),
  },
  {
    name: "what a browser gets, with metadata and sources",
    run: (bench) =>
      shown(
        bench,
        { model: bench.model([{ reasoning: "Hm.", text: "Warm.", content: [source] }]), prompt },
        {
          sendSources: true,
          sendReasoning: false,
          messageMetadata: ({ part }: { part: { type: string } }) => ({ last: part.type }),
        },
      ),
  },
  {
    name: "two readers",
    run: async ({ sdk, model }) => {
      const result = sdk.streamText({ model: model([{ text: "It is warm today." }]), prompt });
      const [texts, parts] = [result.textStream, result.fullStream];
      return Promise.all([partsIn(texts), partsIn(parts as AsyncIterable<unknown>)]);
    },
  },
  {
    name: "consumed unread",
    run: async ({ sdk, model }) => {
      const errors: unknown[] = [];
      const result = sdk.streamText({ model: model([{ text: "It is warm." }]), prompt });
      await result.consumeStream({ onError: (error) => void errors.push(error) });
      return { text: await result.text, errors };
    },
  },
];
