import { z } from "zod";
import type { Bench, Program } from "../program.ts";
import { soon, timePasses } from "../time.ts";
import { generated, streamed } from "../watch.ts";

const prompt = "How warm is it?";
const hanging = { text: "It is warm.", hang: 5, onHang: timePasses } as const;

const whole = (bench: Bench, options: object): Promise<unknown> =>
  generated(() =>
    bench.sdk.generateText({
      model: bench.model([{ hang: 0, onHang: timePasses }]),
      prompt,
      ...options,
    }),
  );

const inStream = (bench: Bench, hang: number, options: object): Promise<unknown> =>
  streamed(bench, { model: bench.model([{ ...hanging, hang }]), prompt, ...options });

const since6 = [6, 7] as const;

export const timeouts: readonly Program[] = [
  { name: "a signal with a time", run: (bench) => whole(bench, { abortSignal: AbortSignal.timeout(soon) }) },
  {
    name: "a signal with a time, before the first word",
    run: (bench) => inStream(bench, 2, { abortSignal: AbortSignal.timeout(soon) }),
  },
  {
    name: "a signal with a time, after the first word",
    run: (bench) => inStream(bench, 5, { abortSignal: AbortSignal.timeout(soon) }),
  },
  { name: "a total time", versions: since6, run: (bench) => whole(bench, { timeout: soon }) },
  {
    name: "a total time, in a stream",
    versions: since6,
    run: (bench) => inStream(bench, 5, { timeout: { totalMs: soon } }),
  },
  { name: "a time per step", versions: since6, run: (bench) => whole(bench, { timeout: { stepMs: soon } }) },
  {
    name: "a time per step, in a stream",
    versions: since6,
    run: (bench) => inStream(bench, 5, { timeout: { stepMs: soon } }),
  },
  {
    name: "a time between chunks",
    versions: since6,
    run: (bench) => inStream(bench, 5, { timeout: { chunkMs: soon } }),
  },
  {
    name: "a time for the first chunk",
    versions: [7],
    run: (bench) => inStream(bench, 2, { timeout: { firstChunkMs: soon } }),
  },
  {
    name: "a time for the first chunk, which is met",
    versions: [7],
    run: (bench) =>
      streamed(bench, {
        model: bench.model([{ text: "It is warm." }]),
        prompt,
        timeout: { firstChunkMs: 60_000, chunkMs: 60_000, stepMs: 60_000, totalMs: 60_000 },
      }),
  },
  {
    name: "a time for the first chunk, in the second turn",
    versions: [7],
    run: (bench) => {
      const look = bench.sdk.tool({ inputSchema: z.object({}), execute: () => (bench.ran(), "found") });
      return streamed(bench, {
        model: bench.model([
          { text: "Let me look.", calls: [{ id: "c1", tool: "look" }] },
          { text: "never", hang: 2, onHang: timePasses },
        ]),
        prompt,
        tools: bench.tools({ look }),
        stopWhen: bench.sdk.stepCountIs(3),
        timeout: { firstChunkMs: soon },
      });
    },
  },
  {
    name: "a time for a tool",
    versions: [7],
    run: (bench) => {
      const slow = bench.sdk.tool({
        inputSchema: z.object({}),
        execute: (_: unknown, { abortSignal }: { abortSignal?: AbortSignal }) => {
          bench.ran();
          timePasses();
          return new Promise<string>((_resolve, reject) =>
            abortSignal?.addEventListener("abort", () => reject(abortSignal.reason as Error)),
          );
        },
      });
      return streamed(bench, {
        model: bench.model([{ calls: [{ id: "c1", tool: "slow" }] }, { text: "Too slow." }]),
        prompt,
        tools: bench.tools({ slow }),
        stopWhen: bench.sdk.stepCountIs(3),
        timeout: { toolMs: soon },
      });
    },
  },
  {
    name: "an embedding with a time",
    run: async (bench) => {
      const model = bench.recorded({
        specificationVersion: { 5: "v2", 6: "v3", 7: "v4" }[bench.major],
        provider: "scripted",
        modelId: "scripted-1",
        maxEmbeddingsPerCall: 2,
        supportsParallelCalls: true,
        doEmbed: ({ abortSignal }: { abortSignal: AbortSignal }) => {
          bench.asked();
          timePasses();
          return new Promise((_, reject) =>
            abortSignal.addEventListener("abort", () => reject(abortSignal.reason as Error)),
          );
        },
      }) as never;
      try {
        return await bench.sdk.embed({ model, value: "one", abortSignal: AbortSignal.timeout(soon) });
      } catch (thrown) {
        return { thrown };
      }
    },
  },
];
