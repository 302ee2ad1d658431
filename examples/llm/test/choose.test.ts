import { execFileSync } from "node:child_process";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { generateText } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chooseModel, ModelChoiceError, type Environment } from "../src/index.ts";

const options = { script: () => ({ text: "said by the script" }), pace: 0 };
const choose = (env: Environment) => chooseModel(env, options);
const idOf = ({ model }: Awaited<ReturnType<typeof choose>>): string => `${model.provider} ${model.modelId}`;

describe("which provider", () => {
  test("without a key it is the script, and the line says so", async () => {
    const choice = await choose({ OPENAI_API_KEY: "" });
    expect(choice.line).toMatch(/^scripted, offline \(no OPENAI_API_KEY, .* found\)$/);
    expect((await generateText({ model: choice.model, prompt: "hello" })).text).toBe("said by the script");
  });

  test.each([
    [{ OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" }, "openai gpt-6-luna (OPENAI_API_KEY is set)"],
    [
      { ANTHROPIC_API_KEY: "k", GOOGLE_GENERATIVE_AI_API_KEY: "k" },
      /^anthropic claude-.* \(ANTHROPIC_API_KEY is set\)$/,
    ],
    [{ GOOGLE_GENERATIVE_AI_API_KEY: "k", AI_GATEWAY_API_KEY: "k" }, /^google gemini-/],
    [{ AI_GATEWAY_API_KEY: "k" }, /^gateway openai\//],
    [{ OPENAI_API_KEY: "k", LLM_MODEL: "gpt-6-astra" }, "openai gpt-6-astra (OPENAI_API_KEY is set)"],
    [
      {
        OPENAI_API_KEY: "k",
        ANTHROPIC_API_KEY: "k",
        LLM_PROVIDER: "anthropic",
        LLM_MODEL: "claude-haiku-5-5",
      },
      "anthropic claude-haiku-5-5 (LLM_PROVIDER says so)",
    ],
    [{ OPENAI_API_KEY: "k", LLM_PROVIDER: "offline" }, "scripted, offline (LLM_PROVIDER says so)"],
  ])("%o", async (env: Environment, line) => {
    const choice = await choose(env);
    expect(choice.line).toEqual(typeof line === "string" ? line : expect.stringMatching(line));
    expect(choice.line).not.toContain("\n");
  });

  test.each([
    [{ LLM_PROVIDER: "opnai" }, "unknown-provider", "openai, anthropic, google, gateway, ollama or offline"],
    [{ LLM_PROVIDER: "constructor" }, "unknown-provider", "offline"],
    [{ LLM_PROVIDER: "anthropic", OPENAI_API_KEY: "k" }, "missing-key", "ANTHROPIC_API_KEY is not set"],
    [{ LLM_PROVIDER: "openai", OPENAI_API_KEY: "" }, "missing-key", "OPENAI_API_KEY is not set"],
    [{ LLM_PROVIDER: "ollama" }, "missing-model", "LLM_MODEL"],
  ])("%o is one clear error", async (env: Environment, code, part) => {
    const error = await choose(env).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ModelChoiceError);
    expect(error).toMatchObject({ code, message: expect.stringContaining(part) as string });
    expect((error as Error).message).not.toContain("\n");
  });
});

describe("what a provider is asked", () => {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    request.resume().on("end", () => {
      const chat = request.url?.endsWith("/chat/completions") === true;
      response.writeHead(chat ? 200 : 400, { "content-type": "application/json" });
      response.end(JSON.stringify(chat ? completion : { error: { message: "not here" } }));
    });
  });
  const completion = {
    id: "1",
    created: 1,
    model: "tiny",
    choices: [
      { index: 0, finish_reason: "stop", message: { role: "assistant", content: "from a local server" } },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 4, total_tokens: 5 },
  };
  let url = "";

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close();
  });

  test.each([
    ["openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "authorization", "Bearer secret-1"],
    ["anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "x-api-key", "secret-1"],
    ["google", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_GENERATIVE_AI_BASE_URL", "x-goog-api-key", "secret-1"],
    ["gateway", "AI_GATEWAY_API_KEY", "AI_GATEWAY_BASE_URL", "authorization", "Bearer secret-1"],
  ])("%s gets key and place from the environment it was given", async (...given) => {
    const [name, key, base, header, value] = given;
    const { model } = await choose({ LLM_PROVIDER: name, [key]: "secret-1", [base]: url });
    asked.length = 0;
    await expect(generateText({ model, prompt: "hello", maxRetries: 0 })).rejects.toThrow(
      /not here|Bad Request/,
    );
    expect(asked).toHaveLength(1);
    expect(asked[0]?.headers[header]).toBe(value);
  });

  test("a local server answers without a key", async () => {
    const choice = await choose({ LLM_PROVIDER: "ollama", LLM_MODEL: "tiny", OLLAMA_BASE_URL: `${url}/v1` });
    expect(idOf(choice)).toContain("tiny");
    expect((await generateText({ model: choice.model, prompt: "hello" })).text).toBe("from a local server");
  });
});

describe("what is loaded", () => {
  /** Packages of the AI SDK that a fresh process resolves while it chooses. */
  const loaded = (env: Environment): string[] => {
    const program = `
      import { registerHooks } from "node:module";
      const seen = new Set();
      registerHooks({ resolve: (name, context, next) => (seen.add(name), next(name, context)) });
      const { chooseModel } = await import("example-llm");
      await chooseModel(${JSON.stringify(env)}, { script: () => ({}) });
      console.log(JSON.stringify([...seen].filter((name) => /^(ai$|@ai-sdk\\/(?!provider))/.test(name))));`;
    const args = ["--conditions=durable-source", "--input-type=module", "-e", program];
    const cwd = fileURLToPath(new URL("..", import.meta.url));
    return JSON.parse(execFileSync(process.execPath, args, { cwd, encoding: "utf8" })) as string[];
  };

  test("nothing of any provider without a key", () => {
    expect(loaded({})).toEqual([]);
  });

  test("only what was chosen with one", () => {
    expect(loaded({ ANTHROPIC_API_KEY: "k" })).toEqual(["@ai-sdk/anthropic"]);
  });
});
