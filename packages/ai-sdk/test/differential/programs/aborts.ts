import { z } from "zod";
import type { Bench, Program } from "../program.ts";
import { settled } from "../time.ts";
import { generated, shown, streamed } from "../watch.ts";

const prompt = "How warm is it?";
/** Hangs after the words "It is". */
const hanging = { text: "It is warm.", hang: 5 } as const;

const later = (work: () => void): void => void settled().then(work);

/** Aborts when a part of this type, with this text, was seen. */
const at = (abort: AbortController, text: string, reason?: unknown) => (part: Record<string, unknown>) => {
  if (part["text"] === text) abort.abort(reason);
};

/** The SDK waits 2 seconds, and the run a minute: both are aborted before. */
const long = { delay: "30s", jitter: false } as const;
const refused = (sdk: Bench["sdk"]) => ({
  throws: new sdk.APICallError({
    message: "try later",
    url: "https://example.com",
    requestBodyValues: {},
    statusCode: 429,
  }),
});

const slowTool = ({ sdk, ran }: Bench, started: () => void) =>
  sdk.tool({
    inputSchema: z.object({}),
    execute: (_: unknown, { abortSignal }: { abortSignal?: AbortSignal }) => {
      ran();
      started();
      return new Promise<string>((_resolve, reject) =>
        abortSignal?.addEventListener("abort", () => reject(abortSignal.reason as Error), { once: true }),
      );
    },
  });

export const aborts: readonly Program[] = [
  {
    name: "aborted before it began",
    run: (bench) => {
      const { model, sdk } = bench;
      return generated(() =>
        sdk.generateText({
          model: model([{ text: "never", hang: 0 }]),
          prompt,
          abortSignal: AbortSignal.abort(),
        }),
      );
    },
  },
  {
    name: "aborted while the provider thinks",
    run: ({ model, sdk }) => {
      const abort = new AbortController();
      const onHang = (): void => later(() => abort.abort());
      return generated(() =>
        sdk.generateText({ model: model([{ hang: 0, onHang }]), prompt, abortSignal: abort.signal }),
      );
    },
  },
  {
    name: "aborted with a reason of its own",
    run: ({ model, sdk }) => {
      const abort = new AbortController();
      const onHang = (): void => later(() => abort.abort(new Error("the user has left")));
      return generated(() =>
        sdk.generateText({ model: model([{ hang: 0, onHang }]), prompt, abortSignal: abort.signal }),
      );
    },
  },
  {
    name: "aborted in the second turn",
    run: (bench) => {
      const abort = new AbortController();
      const onHang = (): void => later(() => abort.abort());
      const look = bench.sdk.tool({
        inputSchema: z.object({}),
        execute: () => (bench.ran(), "found"),
      });
      return generated(() =>
        bench.sdk.generateText({
          model: bench.model([
            { text: "Let me look.", calls: [{ id: "c1", tool: "look" }] },
            { hang: 0, onHang },
          ]),
          prompt,
          tools: bench.tools({ look }),
          stopWhen: bench.sdk.stepCountIs(3),
          abortSignal: abort.signal,
        }),
      );
    },
  },
  {
    name: "a stream aborted before it began",
    run: (bench) =>
      streamed(bench, { model: bench.model([hanging]), prompt, abortSignal: AbortSignal.abort() }),
  },
  {
    name: "a stream aborted before its first word",
    run: (bench) => {
      const abort = new AbortController();
      const onHang = (): void => later(() => abort.abort());
      return streamed(bench, {
        model: bench.model([{ text: "never", hang: 2, onHang }]),
        prompt,
        abortSignal: abort.signal,
      });
    },
  },
  {
    name: "a stream aborted after its first word",
    run: (bench) => {
      const abort = new AbortController();
      const options = { model: bench.model([hanging]), prompt, abortSignal: abort.signal };
      return streamed(bench, options, { on: at(abort, "It") });
    },
  },
  {
    name: "a stream aborted with a reason of its own",
    run: (bench) => {
      const abort = new AbortController();
      const options = { model: bench.model([hanging]), prompt, abortSignal: abort.signal };
      return streamed(bench, options, { on: at(abort, " is", new Error("the user has left")) });
    },
  },
  {
    name: "a stream aborted at its last word",
    run: (bench) => {
      const abort = new AbortController();
      const options = { model: bench.model([{ text: "It is." }]), prompt, abortSignal: abort.signal };
      return streamed(bench, options, { on: (part) => void (part["type"] === "text-end" && abort.abort()) });
    },
  },
  {
    name: "an abort after the end",
    run: async (bench) => {
      const abort = new AbortController();
      const seen = await streamed(bench, {
        model: bench.model([{ text: "It is warm." }]),
        prompt,
        abortSignal: abort.signal,
      });
      abort.abort();
      return seen;
    },
  },
  {
    name: "aborted from outside",
    run: ({ model, sdk }) => {
      const abort = new AbortController();
      // Nobody presses the button again in the next life.
      const onHang = (): void => abort.abort();
      return generated(() =>
        sdk.generateText({ model: model([{ hang: 0, onHang }]), prompt, abortSignal: abort.signal }),
      );
    },
  },
  {
    name: "a stream aborted from outside",
    run: (bench) => {
      const abort = new AbortController();
      const onHang = (): void => later(() => abort.abort());
      return streamed(bench, {
        model: bench.model([{ ...hanging, onHang }]),
        prompt,
        abortSignal: abort.signal,
      });
    },
  },
  {
    name: "aborted between two attempts",
    run: ({ model, sdk }) => {
      const abort = new AbortController();
      later(() => abort.abort());
      const busy = refused(sdk);
      return generated(() =>
        sdk.generateText({ model: model([busy], { retry: long }), prompt, abortSignal: abort.signal }),
      );
    },
  },
  {
    name: "a stream aborted between two attempts",
    run: (bench) => {
      const abort = new AbortController();
      later(() => abort.abort());
      const model = bench.model([refused(bench.sdk)], { retry: long });
      return streamed(bench, { model, prompt, abortSignal: abort.signal });
    },
  },
  {
    name: "a provider that does not listen",
    versions: [7],
    run: (bench) => {
      const abort = new AbortController();
      const options = {
        model: bench.model([{ ...hanging, deaf: true }]),
        prompt,
        abortSignal: abort.signal,
      };
      return streamed(bench, options, { on: at(abort, " is") });
    },
  },
  {
    name: "an aborted stream in a browser",
    run: (bench) => {
      const abort = new AbortController();
      const onChunk = ({ chunk }: { chunk: Record<string, unknown> }): void => at(abort, " is")(chunk);
      return shown(bench, { model: bench.model([hanging]), prompt, abortSignal: abort.signal, onChunk });
    },
  },
  {
    name: "aborted in a tool",
    run: (bench) => {
      const abort = new AbortController();
      const slow = slowTool(bench, () => later(() => abort.abort()));
      return generated(() =>
        bench.sdk.generateText({
          model: bench.model([{ calls: [{ id: "c1", tool: "slow" }] }, { hang: 0 }]),
          prompt,
          tools: bench.tools({ slow }),
          stopWhen: bench.sdk.stepCountIs(3),
          abortSignal: abort.signal,
        }),
      );
    },
  },
  {
    name: "a stream aborted in a tool",
    run: (bench) => {
      const abort = new AbortController();
      const slow = slowTool(bench, () => later(() => abort.abort()));
      return streamed(bench, {
        model: bench.model([
          { text: "Wait.", calls: [{ id: "c1", tool: "slow" }] },
          { text: "never", hang: 0 },
        ]),
        prompt,
        tools: bench.tools({ slow }),
        stopWhen: bench.sdk.stepCountIs(3),
        abortSignal: abort.signal,
      });
    },
  },
];
