import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Ended } from "example-llm/process";
import { afterEach, describe, expect, inject, test } from "vitest";
import { cleanUp, newFolder, runDemo } from "./support/demo-process.ts";

afterEach(cleanUp);

/** What each run reported. */
const calls = ({ out }: Ended): number[] =>
  [...out.matchAll(/provider calls in this run: (\d+)/g)].map(([, count]) => Number(count));

/** What each run printed, without the counts. */
const answers = ({ out }: Ended): string[] =>
  out.split(/^(?:first|second) run$/m).map((text) => text.split("  provider calls")[0] ?? "");

const demos: [string, string[]][] = [
  ["demo:stream", ["--stream"]],
  ["demo", []],
];

const full = inject("full");

describe.each(full ? demos : demos.slice(0, 1))("%s", (_, args) => {
  test("the first run calls the provider, the second one does not, and both print the same", async () => {
    const folder = newFolder();
    const once = await runDemo(folder, args);
    expect(once).toMatchObject({ code: 0, err: "" });
    expect(calls(once)).toEqual([3, 0]);
    const [, first, second] = answers(once);
    expect(first).toContain("An anchor is the brake of a boat.");
    expect(second).toBe(first);

    // Another process finds recorded calls in the next test, too.
    if (full) {
      const again = await runDemo(folder, args);
      expect(calls(again)).toEqual([0, 0]);
      expect(answers(again)[1]).toBe(first);
    }

    const fresh = await runDemo(folder, [...args, "--fresh"]);
    expect(calls(fresh)).toEqual([3, 0]);
  });

  test("SIGKILL after the first answer: the next process makes the calls that are left", async () => {
    const folder = newFolder();
    const until = "It gives the crew time.";
    const killed = await runDemo(folder, args, { until, env: { DEMO_PACE: "0.5" } });
    expect(killed.signal).toBe("SIGKILL");
    expect(calls(killed)).toEqual([]);
    const next = await runDemo(folder, args);
    expect(next).toMatchObject({ code: 0, err: "" });
    expect(calls(next)).toEqual([2, 0]);
    expect(answers(next)[2]).toBe(answers(next)[1]);
  });
});

test("what a real model has answered is replayed without its key; a call that is not recorded needs it", async () => {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const output = [
        {
          type: "message",
          id: "m",
          role: "assistant",
          content: [{ type: "output_text", text: "REAL ANSWER", annotations: [] }],
        },
      ];
      const usage = { input_tokens: 1, output_tokens: 1 };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: "r", created_at: 1, model: "gpt", output, usage }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const env = { LLM_PROVIDER: "openai", OPENAI_BASE_URL: `http://127.0.0.1:${port}` };
  const folder = newFolder();
  const once = await runDemo(folder, [], { env: { ...env, OPENAI_API_KEY: "k" } });
  server.close();
  expect(once).toMatchObject({ code: 0, err: "" });
  expect(calls(once)).toEqual([3, 0]);
  const again = await runDemo(folder, [], { env: { ...env, OPENAI_API_KEY: "" } });
  expect(again).toMatchObject({ code: 0, err: "" });
  expect(calls(again)).toEqual([0, 0]);
  expect(answers(again)[1]).toContain("REAL ANSWER");
  const fresh = await runDemo(folder, ["--fresh"], { env: { ...env, OPENAI_API_KEY: "" } });
  expect(fresh.code).toBe(1);
  expect(fresh.err).toMatch(/^LLM_PROVIDER is "openai", but OPENAI_API_KEY is not set\..*\n$/);
});

test("a choice that cannot be honoured is one line", async () => {
  const { code, err } = await runDemo(newFolder(), [], { env: { LLM_PROVIDER: "opnai" } });
  expect(code).toBe(1);
  expect(err).toMatch(/^LLM_PROVIDER is "opnai"\..*\n$/);
});

test("the middleware in the README is the middleware, and short", () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
  const [, block = ""] = /```ts\n(export function recorded[^]*?)```/.exec(read("../README.md")) ?? [];
  expect(read("../src/middleware.ts")).toContain(block);
  expect(read("../src/middleware.ts").split("\n").length).toBeLessThanOrEqual(50);
});
