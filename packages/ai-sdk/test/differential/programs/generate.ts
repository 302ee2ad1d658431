import type { Program } from "../program.ts";
import { Callbacks, generated } from "../watch.ts";

const prompt = "How warm is it?";
const source = {
  type: "source",
  sourceType: "url",
  id: "source-1",
  url: "https://example.com/weather",
  title: "Weather",
};
const bytes = new Uint8Array([137, 80, 78, 71]);

export const generate: readonly Program[] = [
  {
    name: "one answer",
    run: ({ sdk, model }) =>
      generated(() => sdk.generateText({ model: model([{ text: "It is warm." }]), prompt })),
  },
  {
    name: "an answer without id, time and model",
    run: ({ sdk, model }) =>
      generated(() => sdk.generateText({ model: model([{ text: "It is warm.", metadata: false }]), prompt })),
  },
  {
    name: "reasoning, a source and provider metadata",
    run: ({ sdk, model }) =>
      generated(() =>
        sdk.generateText({
          model: model([
            {
              reasoning: "Summer. South.",
              text: "It is warm.",
              content: [source],
              providerMetadata: { scripted: { seed: 7, nested: { list: [1, "two", null] } } },
            },
          ]),
          prompt,
        }),
      ),
  },
  {
    name: "a generated file",
    run: ({ sdk, model, major }) =>
      generated(async () => {
        const data = major === 7 ? { type: "data", data: bytes } : bytes;
        const content = [{ type: "file", mediaType: "image/png", data }];
        const result = await sdk.generateText({ model: model([{ text: "Look:", content }]), prompt });
        const files = result.files.map(({ mediaType, base64, uint8Array }) => ({
          mediaType,
          base64,
          uint8Array,
        }));
        return { files, text: result.text };
      }),
  },
  {
    name: "warnings of the provider",
    run: ({ sdk, model, major }) =>
      generated(() => {
        const warning =
          major === 5
            ? { type: "unsupported-setting", setting: "seed" }
            : { type: "unsupported", feature: "seed" };
        return sdk.generateText({ model: model([{ text: "Warm.", warnings: [warning] }]), prompt, seed: 1 });
      }),
  },
  {
    name: "bodies of request and response",
    differs: [{ why: "bodies", in: ["next life"], without: ["body"] }],
    run: ({ sdk, model }) =>
      generated(() =>
        sdk.generateText({
          model: model([{ text: "Warm.", bodies: true }]),
          prompt,
          experimental_include: { requestBody: true, responseBody: true },
          include: { requestBody: true, responseBody: true },
        }),
      ),
  },
  {
    name: "a header that is a secret",
    differs: [{ why: "secret-headers", in: ["run"], without: ["set-cookie"] }],
    run: ({ sdk, model }) =>
      generated(() => sdk.generateText({ model: model([{ text: "Warm.", cookie: true }]), prompt })),
  },
  {
    name: "a cut-off answer",
    run: ({ sdk, model }) =>
      generated(() => sdk.generateText({ model: model([{ text: "It is", finish: "length" }]), prompt })),
  },
  {
    name: "callbacks of a whole answer",
    run: async ({ sdk, model }) => {
      const { log, options } = new Callbacks();
      const result = await generated(() =>
        sdk.generateText({ ...options, model: model([{ text: "Warm." }]), prompt }),
      );
      return { result, log };
    },
  },
  {
    name: "three calls at once",
    run: ({ sdk, model }) =>
      Promise.all(
        ["Oslo", "Rome", "Bern"].map((city) =>
          generated(() => sdk.generateText({ model: model([{ text: `${city}: warm.` }]), prompt: city })),
        ),
      ),
  },
  {
    name: "the same question twice",
    run: async ({ sdk, model }) => {
      const talker = model([[{ text: "Warm." }, { text: "Cold." }]]);
      const first = await generated(() => sdk.generateText({ model: talker, prompt }));
      return [first, await generated(() => sdk.generateText({ model: talker, prompt }))];
    },
  },
  {
    name: "a conversation with an image and a system prompt",
    run: ({ sdk, model }) =>
      generated(() =>
        sdk.generateText({
          model: model([{ text: "never" }, { text: "A logo." }]),
          system: "You see.",
          messages: [
            { role: "user", content: [{ type: "image", image: bytes }] },
            { role: "assistant", content: "I see." },
            { role: "user", content: "What?" },
          ],
          temperature: 0.5,
          maxOutputTokens: 20,
          stopSequences: ["END"],
        }),
      ),
  },
];
