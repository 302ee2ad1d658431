/** Every field in the table of docs/guides/integrate/ai-sdk-results.md, returned from a step and replayed. */

import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";
import { DurableError, type Context } from "@durable/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { Lab } from "./support/lab.ts";
import { Media } from "./support/media-models.ts";
import { Provider } from "./support/provider.ts";
import { versions, type Version } from "./support/versions.ts";

globalThis.AI_SDK_LOG_WARNINGS = false;

const page = readFileSync(
  new URL("../../../docs/guides/integrate/ai-sdk-results.md", import.meta.url),
  "utf8",
);

interface Field {
  readonly name: string;
  /** Versions that have it; all when it is empty. */
  readonly in: readonly string[];
}

interface Row {
  readonly fn: string;
  readonly in: readonly string[];
  readonly kept: readonly Field[];
  readonly refused: readonly Field[];
  readonly instead: string;
}

const rows: readonly Row[] = page
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => {
    const [fn = "", kept = "", refused = "", instead = ""] = line.slice(1, -1).split(/ \| ?/);
    const name = fn.replaceAll(/`|\(.*\)/g, "").trim();
    const code = /`(.*)`/.exec(instead)?.[1] ?? "";
    return { fn: name, in: versionsIn(fn), kept: fieldsIn(kept), refused: fieldsIn(refused), instead: code };
  });

function fieldsIn(cell: string): Field[] {
  const found = cell.matchAll(/`(\w+)`(?: \(([\d, ]+)\))?/g);
  return [...found].map(([text, name = ""]) => ({ name, in: versionsIn(text) }));
}

function versionsIn(text: string): string[] {
  return (/\(([\d, ]+)\)/.exec(text)?.[1] ?? "").split(", ").filter((version) => version !== "");
}

const has = ({ name }: Version, { in: only }: { readonly in: readonly string[] }): boolean =>
  only.length === 0 || only.includes(name.slice(3));

let server: Provider;
beforeAll(async () => {
  server = await Provider.open(({ question, results }) => {
    if (question.includes("object")) return { text: '{"a":1}' };
    return results > 0 ? { text: "done" } : { text: "", calls: [{ tool: "look", input: {}, id: "c" }] };
  });
});
afterAll(() => server.close());

type Result = Record<string, unknown>;
type Anything = Record<string, (options: object) => unknown> & {
  readonly ToolLoopAgent?: Agent;
  readonly Experimental_Agent?: Agent;
};
type Agent = new (options: object) => { generate(options: object): unknown };

/** The functions of the table. Their types differ by version, and do not matter here. */
function call({ name, ai, models }: Version, fn: string): Result | Promise<Result> {
  const sdk = ai as unknown as Anything;
  const media = new Media(name);
  const called = (own: string, options: object): Result =>
    (sdk[own] ?? sdk[`experimental_${own}`])?.(options) as Result;
  const model = models.chat(server.url);
  const tools = { look: ai.tool({ inputSchema: z.object({}), execute: () => "looked" }) };
  const schema = z.object({ a: z.number() });
  const text = { model, tools, prompt: "Look.", stopWhen: ai.stepCountIs(3) };
  const calls: Readonly<Record<string, () => Result>> = {
    generateText: () => called("generateText", text),
    "generateText with files": () => called("generateText", { model: drawing(name), prompt: "Draw." }),
    streamText: () => called("streamText", text),
    generateObject: () => called("generateObject", { model, schema, prompt: "An object." }),
    streamObject: () => called("streamObject", { model, schema, prompt: "An object." }),
    "agent.generate": () => {
      const Loop = (sdk.ToolLoopAgent ?? sdk.Experimental_Agent) as Agent;
      return new Loop(text).generate({ prompt: "Look." }) as Result;
    },
    embed: () => called("embed", { model: media.model("embedding"), value: "a" }),
    embedMany: () => called("embedMany", { model: media.model("embedding"), values: ["a"] }),
    generateImage: () => called("generateImage", { model: media.model("image"), prompt: "a" }),
    generateSpeech: () => called("generateSpeech", { model: media.model("speech"), text: "a" }),
    transcribe: () =>
      called("transcribe", { model: media.model("transcription"), audio: new Uint8Array([65]) }),
    rerank: () => called("rerank", { model: media.model("reranking"), query: "a", documents: ["x", "y"] }),
  };
  const own = calls[fn];
  if (own === undefined) throw new Error(`The table has an unknown function: ${fn}`);
  return own();
}

/** A model that answers with a picture. */
function drawing(version: string): object {
  const spec = { "ai 5": "v2", "ai 6": "v3" }[version] ?? "v4";
  const bytes = new Uint8Array([137, 80, 78, 71]);
  const data = spec === "v4" ? { type: "data", data: bytes } : bytes;
  const tokens = spec === "v2" ? 1 : { total: 1 };
  return {
    specificationVersion: spec,
    provider: "fake",
    modelId: "fake-1",
    supportedUrls: {},
    doGenerate: async () => ({
      content: [
        { type: "text", text: "A dot." },
        { type: "file", mediaType: "image/png", data },
      ],
      finishReason: spec === "v2" ? "stop" : { unified: "stop", raw: "stop" },
      usage: { inputTokens: tokens, outputTokens: tokens, totalTokens: 2 },
      warnings: [],
    }),
  };
}

/** A result; the object of a streamed one is given only while a stream of it is read. */
async function resultOf(version: Version, fn: string): Promise<Result> {
  const result = await call(version, fn);
  if (fn !== "streamObject") return result;
  const [read, left] = (result["partialObjectStream"] as ReadableStream).tee();
  void drain(read);
  return new Proxy(result, {
    get: (target, name) =>
      name === "partialObjectStream" ? left : (Reflect.get(target, name, target) as unknown),
  });
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

type Picks = Readonly<Record<string, () => unknown>>;

/** What steps give that return this, in two lives: values, or errors. */
async function twice(picks: Picks): Promise<Record<string, unknown>[]> {
  const lab = new Lab();
  const ran: string[] = [];
  const body = async (ctx: Context): Promise<Record<string, unknown>> => {
    const seen: Record<string, unknown> = {};
    for (const [name, pick] of Object.entries(picks))
      seen[name] = await ctx.step(name, () => (ran.push(name), pick())).catch((error: unknown) => error);
    return seen;
  };
  const lives = [await lab.drive(body), await lab.drive(body)];
  // Nothing runs again, not even what failed.
  expect(ran).toEqual(Object.keys(picks));
  return lives.map(({ value }) => value ?? {});
}

test("the table has a row for each function", () => {
  expect(rows).toHaveLength(12);
  for (const { kept, refused, instead } of rows) {
    expect(kept.length).toBeGreaterThan(0);
    expect(refused.length).toBeGreaterThan(0);
    expect(instead).not.toBe("");
  }
});

describe.each(versions.map((version) => [version.name, version] as const))("%s", (_, version) => {
  const own = rows.filter((row) => has(version, row)).map((row) => [row.fn, row] as const);

  test.each(own)("%s: what may be returned comes back equal", async (fn, { kept, instead }) => {
    const result = await resultOf(version, fn);
    const names = kept.filter((field) => has(version, field)).map(({ name }) => name);
    expect(names.filter((name) => !(name in result))).toEqual([]);
    const evaluate = runInThisContext(`async (result) => ${instead}`) as (given: Result) => Promise<unknown>;
    const picks = names.map((name) => [name, () => result[name]] as const);
    const [live, next] = await twice({ ...Object.fromEntries(picks), instead: () => evaluate(result) });
    expect(Object.entries(live ?? {}).filter(([, value]) => value instanceof Error)).toEqual([]);
    expect(live?.["instead"]).toBeDefined();
    expect(next).toStrictEqual(live);
  });

  test.each(own)("%s: the rest is refused by code, once", async (fn, { refused }) => {
    const result = await resultOf(version, fn);
    const picks = refused.map(
      ({ name }) => [name, () => (name === "result" ? result : result[name])] as const,
    );
    for (const life of await twice(Object.fromEntries(picks)))
      for (const [name, error] of Object.entries(life)) {
        const { cause } = error as Error;
        expect([name, DurableError.is(cause, "not-serializable")]).toEqual([name, true]);
      }
  });
});
