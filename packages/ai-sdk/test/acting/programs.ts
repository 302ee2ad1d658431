/** Programs that act on the words of a stream while it is open. */

import type { Context } from "@durable/core";
import { embed, generateSpeech, generateText, isStepCount, Output, smoothStream, streamText, tool } from "ai";
import { z } from "zod";
import { durableTools } from "../../src/index.ts";
import type { Stage } from "./stage.ts";

export type Program = (ctx: Context, stage: Stage) => Promise<unknown>;

/** The sentences of a running stream, each as soon as it is complete. */
async function* sentences(words: AsyncIterable<string>): AsyncGenerator<string> {
  let open = "";
  for await (const word of words) {
    open += word;
    if (!open.trimEnd().endsWith(".")) continue;
    yield open.trim();
    open = "";
  }
}

const asking = (stage: Stage, about: string) => async (sentence: string) =>
  (await generateText({ model: stage.model, prompt: `${about}: ${sentence}` })).text;

export const programs: Readonly<Record<string, Program>> = {
  "speech per sentence, all at once": async (_, stage) => {
    const spoken: Promise<unknown>[] = [];
    const { textStream } = streamText({ model: stage.model, prompt: "Tell a story." });
    for await (const text of sentences(textStream))
      spoken.push(generateSpeech({ model: stage.speech, text }));
    return (await Promise.all(spoken)).length;
  },
  "translation, sentence after sentence": async (_, stage) => {
    const said: string[] = [];
    const { textStream } = streamText({ model: stage.model, prompt: "Tell a story." });
    for await (const sentence of sentences(textStream)) said.push(await asking(stage, "translate")(sentence));
    return said;
  },
  "a guard on the first words": async (_, stage) => {
    const { textStream } = streamText({ model: stage.model, prompt: "Tell a story." });
    let heard = "";
    let verdict: string | null = null;
    for await (const word of textStream) {
      heard += word;
      if (verdict === null && heard.split(" ").length > 3) verdict = await asking(stage, "is it fine")(heard);
    }
    return asking(stage, `after ${verdict}`)(heard);
  },
  "a reader that leaves early and asks again": async (_, stage) => {
    const { textStream } = streamText({ model: stage.model, prompt: "Tell a story." });
    let first = "";
    for await (const sentence of sentences(textStream)) {
      first = sentence;
      break;
    }
    const more = await asking(stage, "go on")(first);
    return asking(stage, "end it")(more);
  },
  "a moderator that aborts": async (_, stage) => {
    const stop = new AbortController();
    const { textStream } = streamText({
      model: stage.model,
      prompt: "Tell a story.",
      abortSignal: stop.signal,
      onError: () => {},
    });
    const heard: string[] = [];
    try {
      for await (const sentence of sentences(textStream)) {
        heard.push(sentence);
        if (heard.length === 3) stop.abort(new Error("enough"));
      }
    } catch {
      heard.push("stopped");
    }
    return asking(stage, "write it anew")(heard.join(" "));
  },
  "embeddings from onChunk": async (_, stage) => {
    const found: Promise<unknown>[] = [];
    const { text } = streamText({
      model: stage.model,
      prompt: "Tell a story.",
      onChunk: ({ chunk }) => {
        if (chunk.type === "text-delta" && found.length < 6)
          found.push(embed({ model: stage.embedding, value: chunk.text }));
      },
    });
    await text;
    return (await Promise.all(found)).length;
  },
  "two speakers that answer each other": async (_, stage) => {
    const talk = async (who: string): Promise<string[]> => {
      const { textStream } = streamText({ model: stage.model, prompt: `Tell a story, ${who}.` });
      const said: string[] = [];
      for await (const sentence of sentences(textStream)) said.push(await asking(stage, who)(sentence));
      return said;
    };
    return Promise.all([talk("one"), talk("two")]);
  },
  "elements of a list while they come": async (_, stage) => {
    const { elementStream } = streamText({
      model: stage.model,
      prompt: "List them.",
      output: Output.array({ element: z.object({ name: z.string() }) }),
    });
    const said: Promise<string>[] = [];
    for await (const { name } of elementStream) said.push(asking(stage, "describe")(name));
    return Promise.all(said);
  },
  "streams about sentences of a stream": async (_, stage) => {
    const said: string[] = [];
    const { textStream } = streamText({ model: stage.model, prompt: "Tell a story." });
    for await (const sentence of sentences(textStream)) {
      const inner = streamText({ model: stage.model, prompt: `Say more: ${sentence}` });
      for await (const more of sentences(inner.textStream)) {
        said.push(await asking(stage, "sum up")(more));
        break;
      }
    }
    return said;
  },
  "an agent with tools that speaks": async (ctx, stage) => {
    const spoken: Promise<unknown>[] = [];
    const look = tool({ inputSchema: z.object({ what: z.string() }), execute: ({ what }) => `saw ${what}` });
    const { textStream } = streamText({
      model: stage.model,
      prompt: "Look around.",
      tools: durableTools(ctx, { look }),
      stopWhen: isStepCount(4),
    });
    for await (const text of sentences(textStream))
      spoken.push(generateSpeech({ model: stage.speech, text }));
    return (await Promise.all(spoken)).length;
  },
  "smooth words, and equal questions at once": async (_, stage) => {
    const { textStream } = streamText({
      model: stage.model,
      prompt: "Tell a story.",
      experimental_transform: smoothStream(),
    });
    const said: string[] = [];
    for await (const sentence of sentences(textStream)) said.push(await asking(stage, "sum up")(sentence));
    const best = await Promise.all([1, 2, 3].map(() => asking(stage, "best of")("three")));
    return [said, best];
  },
  "branches with steps about sentences": async (ctx, stage) => {
    const talk = (who: string) => async (inner: Context) => {
      const { textStream } = streamText({ model: stage.on(inner), prompt: `Tell a story, ${who}.` });
      const said: string[] = [];
      let count = 0;
      for await (const sentence of sentences(textStream)) {
        count += 1;
        said.push(await inner.step(`write ${count}`, () => `wrote: ${sentence}`, { input: sentence }));
      }
      return said;
    };
    return ctx.parallel({ one: talk("one"), two: talk("two") });
  },
};
