import { z } from "zod";
import type { Bench, Program } from "../program.ts";
import { generated, partsIn, streamed } from "../watch.ts";

const prompt = "How warm is it?";
const schema = z.object({ city: z.string(), degrees: z.number() });
const json = '{"city": "Rome", "degrees": 21}';
const wrong = '{"city": "Rome", "degrees": "warm"}';
const list = '{"elements": [{"city": "Rome", "degrees": 21}, {"city": "Oslo", "degrees": 4}]}';

const objectFacts = ["object", "reasoning"];

async function streamedObject({ sdk }: Bench, options: object): Promise<unknown> {
  const log: unknown[] = [];
  const result = sdk.streamObject({
    onError: ({ error }: { error: unknown }) => void log.push(["error", error]),
    onFinish: ({ object, error, usage }: Record<string, unknown>) =>
      void log.push(["finish", object, error, usage]),
    ...options,
  } as never) as unknown as Record<string, unknown>;
  const settled = async (promise: unknown): Promise<unknown> => {
    try {
      return await promise;
    } catch (rejected) {
      return { rejected };
    }
  };
  const parts = await partsIn(result["fullStream"] as AsyncIterable<unknown>);
  const names = ["object", "usage", "warnings", "finishReason", "response", "providerMetadata"];
  const facts = await Promise.all(names.map(async (name) => [name, await settled(result[name])]));
  return { parts, facts, log };
}

const output = ({ sdk, major }: Bench): object =>
  major === 5
    ? { experimental_output: sdk.Output.object({ schema }) }
    : { output: sdk.Output.object({ schema }) };
const outputName = ({ major }: Bench): string => (major === 5 ? "experimental_output" : "output");

export const objects: readonly Program[] = [
  {
    name: "an object",
    run: ({ sdk, model }) =>
      generated(() => sdk.generateObject({ model: model([{ text: json }]), schema, prompt }), objectFacts),
  },
  {
    name: "an object that does not fit",
    run: ({ sdk, model }) =>
      generated(() => sdk.generateObject({ model: model([{ text: wrong }]), schema, prompt }), objectFacts),
  },
  {
    name: "an object that is not JSON",
    run: ({ sdk, model }) =>
      generated(() => sdk.generateObject({ model: model([{ text: "warm" }]), schema, prompt }), objectFacts),
  },
  {
    name: "a repaired object",
    run: ({ sdk, model }) =>
      generated(
        () =>
          sdk.generateObject({
            model: model([{ text: "warm" }]),
            schema,
            prompt,
            experimental_repairText: async () => json,
          }),
        objectFacts,
      ),
  },
  {
    name: "a list of objects",
    run: ({ sdk, model }) =>
      generated(
        () => sdk.generateObject({ model: model([{ text: list }]), output: "array", schema, prompt }),
        objectFacts,
      ),
  },
  {
    name: "an enumeration",
    run: ({ sdk, model }) =>
      generated(
        () =>
          sdk.generateObject({
            model: model([{ text: '{"result":"warm"}' }]),
            output: "enum",
            enum: ["warm", "cold"],
            prompt,
          }),
        objectFacts,
      ),
  },
  {
    name: "a streamed object",
    run: (bench) => streamedObject(bench, { model: bench.model([{ text: json }]), schema, prompt }),
  },
  {
    name: "a streamed object that does not fit",
    run: (bench) => streamedObject(bench, { model: bench.model([{ text: wrong }]), schema, prompt }),
  },
  {
    name: "a streamed list of objects",
    run: async ({ sdk, model }) => {
      const result = sdk.streamObject({ model: model([{ text: list }]), output: "array", schema, prompt });
      return { ...(await partsIn(result.elementStream)), object: await result.object };
    },
  },
  {
    name: "text with an object as output",
    run: (bench) =>
      generated(
        () => bench.sdk.generateText({ model: bench.model([{ text: json }]), prompt, ...output(bench) }),
        [outputName(bench)],
      ),
  },
  {
    name: "streamed text with an object as output, bit by bit",
    run: async (bench) => {
      const options = { model: bench.model([{ text: json }]), prompt, ...output(bench) };
      const result = bench.sdk.streamText(options) as unknown as Record<string, unknown>;
      const partial = bench.major === 5 ? "experimental_partialOutputStream" : "partialOutputStream";
      return partsIn(result[partial] as AsyncIterable<unknown>);
    },
  },
  {
    name: "streamed text with an object that does not fit as output",
    versions: [6, 7],
    run: (bench) =>
      streamed(
        bench,
        { model: bench.model([{ text: wrong }]), prompt, ...output(bench) },
        { more: ["output"] },
      ),
  },
];
