import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { MemoryStorage, type Outcome } from "@durable/core";
import { chooseModel, scriptedModel, type Script, watched, watching } from "example-llm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAgent } from "../src/agent.ts";
import { openHarbourOffice, type HarbourOffice } from "../src/harbour-office.ts";
import { defaultQuestion, script } from "../src/script.ts";
import { readDocuments } from "../src/search.ts";
import { createTools, type AgentTools } from "../src/tools.ts";

const documents = readDocuments(fileURLToPath(new URL("../documents", import.meta.url)));
let office: HarbourOffice;
let tools: AgentTools;

beforeAll(async () => {
  office = await openHarbourOffice();
  tools = createTools({ documents, harbourOffice: office.url, pace: 0 });
});
afterAll(() => office.close());

/** One run, with every call of a body noted. */
async function ask(question: string, says: Script, storage = new MemoryStorage()) {
  const calls: string[] = [];
  const agent = watching(createAgent({ model: scriptedModel(says, { pace: 0 }), tools }), (ctx) =>
    watched(ctx, [{ began: ({ key, attempt }) => calls.push(`${key} ${attempt}`) }]),
  ).with({ storage });
  const outcome = await agent.run(question, { id: "r" });
  return { outcome, calls, entries: await agent.get("r").entries() };
}

function outputOf<T>(outcome: Outcome<T>): T {
  if (outcome.status !== "completed") throw new Error(JSON.stringify(outcome));
  return outcome.output;
}

describe("the default question", () => {
  test("needs all three tools, and the answer cites what was found", async () => {
    const { outcome, calls } = await ask(defaultQuestion, script);
    const { text, sources } = outputOf(outcome);
    expect(text).toMatch(/^About 0\.4 m\./);
    expect(sources).toEqual(["rule-of-twelfths.md", "chart-datum.md", "spring-and-neap.md"]);
    expect(new Set(calls.map((call) => call.replace(/[ #].*/, "")))).toEqual(
      new Set(["think", "search", "tide_table", "calculate"]),
    );
  });

  test("the flaky tool is tried again, and no turn of the model with it", async () => {
    const { calls } = await ask(defaultQuestion, script);
    expect(calls.filter((call) => call.startsWith("tide_table"))).toEqual([
      "tide_table 1",
      "tide_table 2",
      "tide_table 3",
    ]);
    const thoughts = calls.filter((call) => call.startsWith("think"));
    expect(thoughts).toEqual(["think 1", "think#2 1", "think#3 1", "think#4 1", "think#5 1"]);
  });
});

describe("other questions", () => {
  test("an offline model says what the library has", async () => {
    const { outcome } = await ask("Why has the Bay of Fundy such tides?", script);
    expect(outputOf(outcome)).toMatchObject({ sources: ["resonance.md"] });
  });

  test("and says when it has nothing", async () => {
    const { outcome } = await ask("quarterly taxes?", script);
    expect(outputOf(outcome)).toMatchObject({
      sources: [],
      text: expect.stringContaining("nothing") as string,
    });
  });
});

test("a provider over HTTP gets the results of the tools", async () => {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] };
      const seen = messages.find(({ role }) => role === "tool")?.content;
      const call = { name: "calculate", arguments: '{"expression":"6 * 7"}' };
      const message =
        seen === undefined
          ? { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: call }] }
          : { role: "assistant", content: `The tool said ${seen}.` };
      const choices = [{ index: 0, finish_reason: seen === undefined ? "tool_calls" : "stop", message }];
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: "1", created: 1, model: "tiny", choices }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const env = { LLM_PROVIDER: "ollama", LLM_MODEL: "tiny", OLLAMA_BASE_URL: url };
    const { model } = await chooseModel(env, { script });
    const agent = createAgent({ model, tools }).with({ storage: new MemoryStorage() });
    expect(outputOf(await agent.run("6 times 7?")).text).toBe('The tool said {"result":42}.');
  } finally {
    server.close();
  }
});

describe("turns", () => {
  /** Calls one tool after the other, then gives up on it. */
  const calling =
    (turns: number, tool: string, input: unknown): Script =>
    (prompt) => {
      const turn = prompt.filter(({ role }) => role === "assistant").length;
      if (turn < turns) return { text: "again", calls: [{ tool, input }] };
      return { text: `last seen: ${JSON.stringify(prompt.at(-1)?.content)}` };
    };

  test("what a turn writes does not grow with the conversation", async () => {
    const storage = new MemoryStorage();
    const { outcome } = await ask("?", calling(10, "search", { query: "tide" }), storage);
    expect(outcome.status).toBe("completed");
    const [head] = (await storage.list()).runs;
    const { batches } = await storage.read(head?.locator ?? "");
    const thoughts = batches.filter((batch) => batch.includes('"key":"think')).map((batch) => batch.length);
    expect(thoughts).toHaveLength(11);
    // Counts and times get a digit longer here and there.
    expect(Math.abs((thoughts[9] ?? 0) - (thoughts[1] ?? 0))).toBeLessThan(20);
  });

  test.each([
    ["a mistake of the model", "calculate", { expression: "1 +" }, "cannot work out"],
    ["a look-up that finds nothing", "tide_table", { harbour: "Nowhere" }, "there are Kestrel Cove"],
    ["a tool that does not exist", "teleport", { to: "harbour" }, "unavailable tool"],
    ["input of the wrong shape", "calculate", { formula: "1 + 1" }, "Invalid input"],
  ])("%s goes to the model", async (_, tool, input, part) => {
    const { outcome } = await ask("?", calling(1, tool, input));
    expect(outputOf(outcome).text).toContain(part);
  });

  test("so is a tool that failed for good", async () => {
    const broken = {
      ...tools,
      calculate: { ...tools["calculate"], retry: { attempts: 2, delay: 0 } },
    } as AgentTools;
    const failing = {
      ...broken,
      calculate: { ...broken["calculate"], run: () => Promise.reject(new Error("no power")) },
    };
    const agent = createAgent({
      model: scriptedModel(calling(1, "calculate", { expression: "1" }), { pace: 0 }),
      tools: failing as AgentTools,
    }).with({ storage: new MemoryStorage() });
    expect(outputOf(await agent.run("?")).text).toContain("no power");
  });

  test("a model that never answers is stopped", async () => {
    const { outcome, calls } = await ask("?", calling(99, "calculate", { expression: "1" }));
    expect(outcome).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("12 turns") as string },
    });
    expect(calls.filter((call) => call.startsWith("think"))).toHaveLength(12);
  });
});
