/** A minute of sleep and a refused model call, in the object alone: after the answer, only GET requests, which drive nothing. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Emulator } from "example-llm/emulator";
import { Place } from "example-llm/process";
import { afterEach, expect, test } from "vitest";

const place = new Place("cloudflare-worker");
const minute = 60_000;
const retryAfter = 5;

/** When the model was asked, and whether it answered. */
const asked: { readonly at: number; readonly refused: boolean }[] = [];
const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (text: string) => (body += text));
  request.on("end", () => {
    const refused = body.includes("Rain") && asked.filter((one) => one.refused).length < 2;
    asked.push({ at: Date.now(), refused });
    const headers = { "content-type": "application/json", "retry-after": String(retryAfter) };
    response.writeHead(refused ? 503 : 200, headers);
    const part = { type: "output_text", text: "All of it.", annotations: [] };
    const output = [{ type: "message", id: "m", role: "assistant", content: [part] }];
    const usage = { input_tokens: 1, output_tokens: 1 };
    const answer = { id: "r", created_at: 1, model: "gpt", output, usage };
    response.end(JSON.stringify(refused ? { error: { message: "busy" } } : answer));
  });
});

let emulator: Emulator | null = null;
afterEach(async () => {
  await emulator?.kill();
  server.close();
  place.remove();
});

async function begin(): Promise<Emulator> {
  const { port } = server.address() as AddressInfo;
  const model = { LLM_PROVIDER: "openai", OPENAI_API_KEY: "k", OPENAI_BASE_URL: `http://127.0.0.1:${port}` };
  emulator = await Emulator.start({
    example: place.example,
    folder: place.folder,
    vars: { DEV: "1", SECRET: "a secret for tests, of no worth", ...model },
  });
  return emulator;
}

interface Read {
  readonly status: string;
  readonly waiting?: readonly { readonly token: string }[];
}

async function until(on: Emulator, id: string, status: string): Promise<Read> {
  for (;;) {
    const run = (await on.ask(`/runs/${id}`)).body as Read;
    if (run.status === status && (status !== "suspended" || (run.waiting ?? []).length > 0)) return run;
    await new Promise((resolve) => void setTimeout(resolve, 200));
  }
}

const keysOf = async (on: Emulator, id: string): Promise<string[]> => {
  const { body } = await on.ask(`/runs/${id}/entries`);
  const { entries } = body as { entries: { kind: string; key: string }[] };
  return entries.filter(({ kind }) => kind === "step.completed").map(({ key }) => key);
};

test(
  "a run that sleeps a minute and one that is refused twice end by themselves, with a kill -9 in between",
  { timeout: 400_000 },
  async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const first = await begin();
    const start = (id: string, topic: string, embargo: number): Promise<unknown> =>
      first.ask("/runs", { workflow: "announcement", id, input: { topic, embargo } });
    await start("wind", "The wind", minute / 1_000);
    const { waiting } = await until(first, "wind", "suspended");
    await start("rain", "Rain", 0);
    const answeredAt = Date.now();
    const { body } = await first.ask(`/resume/${waiting?.[0]?.token}`, { value: { approved: true } });
    expect(body).toMatchObject({ status: "accepted" });
    await first.kill();

    const second = await begin();
    await until(second, "rain", "suspended");
    expect(await keysOf(second, "rain")).toEqual(["outline", "draft"]);
    const refusals = asked.filter(({ refused }) => refused);
    expect(refusals).toHaveLength(2);
    const answered = asked.filter(({ at }) => at > (refusals[1]?.at ?? 0));
    expect((answered[0]?.at ?? 0) - (refusals[1]?.at ?? 0)).toBeGreaterThanOrEqual(retryAfter * 1_000 - 100);

    await until(second, "wind", "completed");
    expect(Date.now() - answeredAt).toBeGreaterThanOrEqual(minute);
    expect(await keysOf(second, "wind")).toEqual(["outline", "draft", "publish"]);
    expect(
      asked.filter(({ refused }) => !refused),
      "no model call was repeated",
    ).toHaveLength(4);
  },
);
