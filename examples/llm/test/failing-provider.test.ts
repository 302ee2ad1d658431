/** Every demo with a provider that refuses: it says what the provider said, without a stack, and its exit code is 1. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, inject, test } from "vitest";
import { killDemos, Place, runDemo } from "example-llm/process";

const said = "the key is wrong";
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    response.writeHead(401, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: said } }));
  });
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => void server.close());

const places: Place[] = [];
afterEach(() => {
  killDemos();
  for (const place of places.splice(0)) place.remove();
});

/** The command of each example, and the stream on which it says why it failed. */
const demos: readonly (readonly [
  example: string,
  file: string,
  args: readonly string[],
  on: "out" | "err",
])[] = [
  ["vercel-ai-sdk", "src/main.ts", [], "err"],
  ["loan-underwriting", "src/main.ts", ["demo"], "out"],
  ["vercel-ai-sdk", "src/main.ts", ["--stream"], "err"],
  ["agent-loop", "src/main.ts", [], "out"],
  ["coding-agent", "src/main.ts", [], "out"],
  ["deploy-assistant", "src/demo.ts", [], "err"],
];

test.each(inject("full") ? demos : demos.slice(0, 2))(
  "%s %s %j",
  { timeout: 120_000 },
  async (example, file, args, on) => {
    const place = new Place(example);
    places.push(place);
    const { port } = server.address() as AddressInfo;
    const env = { LLM_PROVIDER: "openai", OPENAI_API_KEY: "k", OPENAI_BASE_URL: `http://127.0.0.1:${port}` };
    const ended = await runDemo(place, { file, args, env });
    expect(ended.code).toBe(1);
    expect(ended[on]).toContain(said);
    expect(ended.out + ended.err, "a stack").not.toMatch(/^ +at /m);
  },
);
