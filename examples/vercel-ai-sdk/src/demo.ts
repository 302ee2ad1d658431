/** Runs the same program twice on one journal: the second time, no provider is called. */

import { createApp, Journal } from "@durable/core";
import { generateText, streamText, wrapLanguageModel, type LanguageModelMiddleware } from "ai";
import { chooseModel, forget, paceOf, wrapped, type Terminal } from "example-llm";
import { recorded } from "./middleware.ts";
import { program, script } from "./script.ts";

export interface DemoOptions {
  readonly fresh: boolean;
  readonly stream: boolean;
}

interface Done {
  readonly answers: readonly string[];
  readonly calls: number;
}

export async function demo(out: Terminal, options: DemoOptions): Promise<number> {
  const { env } = process;
  const { model, line } = await chooseModel(env, {
    script,
    pace: paceOf(env["DEMO_PACE"]),
    keyLater: true,
  });
  const id = options.stream ? "vercel-ai-sdk-stream" : "vercel-ai-sdk";
  if (options.fresh) await forget(createApp({ workflows: [] }), id);
  out.line(`model    ${line}`);
  out.line(`journal  ${id}`);

  const run = async (name: string): Promise<Done> => {
    out.line(`\n${out.paint("bold", name)}`);
    // Opened again, like in another process: the second run knows only what is recorded.
    const journal = await Journal.open(id);
    let calls = 0;
    const counted: LanguageModelMiddleware = {
      wrapGenerate: ({ doGenerate }) => (calls++, doGenerate()),
      wrapStream: ({ doStream }) => (calls++, doStream()),
    };
    // The first is the outermost: an answer from the journal does not reach the next one.
    const durable = wrapLanguageModel({ model, middleware: [recorded(journal), counted] });
    const answers = await program((prompt) =>
      options.stream ? streamed(out, durable, prompt) : generated(out, durable, prompt),
    );
    out.line(`  ${out.paint(calls === 0 ? "cyan" : "green", `provider calls in this run: ${calls}`)}`);
    return { answers, calls };
  };

  const first = await run("first run");
  const second = await run("second run");
  const same = JSON.stringify(first.answers) === JSON.stringify(second.answers);
  out.line(
    `\nProvider calls: ${first.calls}, then ${second.calls}. The output is ${same ? "identical" : "different"}.`,
  );
  out.line(`Start over: npm run demo${options.stream ? ":stream" : ""} -w example-vercel-ai-sdk -- --fresh`);
  return same && second.calls === 0 ? 0 : 1;
}

type Model = ReturnType<typeof wrapLanguageModel>;

async function generated(out: Terminal, model: Model, prompt: string): Promise<string> {
  const { text } = await generateText({ model, prompt });
  for (const line of wrapped(text, 100, "  ")) out.line(line);
  return text;
}

/** Shown while it comes, on a terminal; the second time as well. */
async function streamed(out: Terminal, model: Model, prompt: string): Promise<string> {
  let text = "";
  let chunks = 0;
  let failure: { readonly error: unknown } | null = null;
  const { textStream } = streamText({ model, prompt, onError: ({ error }) => void (failure = { error }) });
  for await (const chunk of textStream) {
    text += chunk;
    chunks += 1;
    out.status(`  ${text.replaceAll("\n", " ").slice(-60)}`);
  }
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
  for (const line of wrapped(text, 100, "  ")) out.line(line);
  out.line(`  ${out.paint("dim", `(${chunks} chunks)`)}`);
  return text;
}
