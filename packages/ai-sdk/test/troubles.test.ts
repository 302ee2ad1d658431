import { deepStrictEqual } from "node:assert/strict";
import { Journal, MemoryStorage, type Context } from "@durable/core";
import { afterEach, describe, expect, test } from "vitest";
import { durableModel } from "../src/index.ts";
import { Lab } from "./support/lab.ts";
import { Provider } from "./support/provider.ts";
import { latest, versions, type Model, type Version } from "./support/versions.ts";

const open: Provider[] = [];
const provider = async (): Promise<Provider> => {
  const opened = await Provider.open(({ number }) => ({ text: `one two three four, answer ${number}` }));
  open.push(opened);
  return opened;
};

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const retry = { delay: 5, jitter: false };

const generate =
  ({ ai }: Version, model: Model, options: object = {}) =>
  async (on: Context | Journal): Promise<string> =>
    (await ai.generateText({ model: durableModel(on, model, { retry, ...options }), prompt: "?" })).text;

/** Everything a reader of the stream sees, its end included. */
const stream =
  ({ ai }: Version, model: Model) =>
  async (on: Context | Journal): Promise<{ parts: unknown[]; errors: unknown[]; text: string }> => {
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }): void => void errors.push(error);
    const result = ai.streamText({ model: durableModel(on, model, { retry }), prompt: "?", onError });
    const parts: unknown[] = [];
    let text = "";
    try {
      for await (const part of result.fullStream) {
        // The request is not recorded: a replay has none.
        const { performance: _, request: __, ...rest } = part as unknown as Record<string, unknown>;
        parts.push(rest);
        if (part.type === "text-delta") text += part.text;
      }
    } catch (error) {
      errors.push(error);
    }
    return { parts, errors, text };
  };

const refused = (ms: number) => ({ status: 429, headers: { "retry-after-ms": String(ms) } });

describe.each(versions.map((version) => [version.name, version] as const))("%s", (_, version) => {
  test("two refusals, then an answer: three calls in all, and none on replay", async () => {
    const server = await provider();
    const lab = new Lab();
    server.troubles.push(refused(3), refused(3));
    const body = generate(version, version.models.chat(server.url));
    expect((await lab.drive(body)).value).toBe("one two three four, answer 3");
    expect(server.requests).toHaveLength(3);
    expect((await lab.drive(body)).value).toBe("one two three four, answer 3");
    expect(server.requests).toHaveLength(3);
  });

  test("refused for good: the step's attempts alone, and the same error on replay", async () => {
    const server = await provider();
    const lab = new Lab();
    server.troubles.push(...Array.from({ length: 9 }, () => refused(3)));
    const body = generate(version, version.models.chat(server.url));
    const [live, replay] = [await lab.drive(body), await lab.drive(body)];
    expect(server.requests).toHaveLength(3);
    for (const { error } of [live, replay]) {
      expect(version.ai.APICallError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({ message: "try later", statusCode: 429, isRetryable: false });
    }
    deepStrictEqual(replay.error, live.error);
    expect(await lab.text()).not.toMatch(/canary|requestBodyValues|responseBody/);
  });

  test("a stream that is cut off before its first word begins anew, unseen", async () => {
    const server = await provider();
    const lab = new Lab();
    server.paceMs = 15;
    server.troubles.push({ cutAfter: 1 }, refused(3));
    const body = stream(version, version.models.chat(server.url));
    const live = await lab.drive(body);
    expect(live.value).toMatchObject({ text: "one two three four, answer 3", errors: [] });
    const replay = await lab.drive(body);
    deepStrictEqual(replay.value, live.value);
    expect(server.requests).toHaveLength(3);
  });

  test.each(["chat", "responses", "compatible"] as const)(
    "%s: a stream that is cut off in the middle fails once, with what came, and just so on replay",
    async (kind) => {
      const server = await provider();
      const lab = new Lab();
      server.paceMs = 10;
      server.troubles.push({ cutAfter: 5 });
      const body = stream(version, version.models[kind](server.url));
      const live = await lab.drive(body);
      expect(live.value?.text).toMatch(/^one two/);
      expect(live.value?.errors.length).toBeGreaterThan(0);
      const replay = await lab.drive(body);
      expect(replay.value?.text).toBe(live.value?.text);
      expect(String(replay.value?.errors[0])).toBe(String(live.value?.errors[0]));
      expect(replay.value?.parts).toEqual(live.value?.parts);
      expect(server.requests).toHaveLength(1);
    },
  );
});

test("a retry-after of an hour parks the run until then, without a call", async () => {
  const server = await provider();
  const lab = new Lab();
  server.troubles.push({ status: 429, headers: { "retry-after": "3600" } });
  const body = generate(latest, latest.models.chat(server.url));
  const before = Date.now();
  const { outcome } = await lab.drive(body);
  expect(outcome).toMatchObject({ status: "suspended", waiting: [] });
  const wakeAt = outcome.status === "suspended" ? (outcome.wakeAt ?? 0) : 0;
  expect(wakeAt - before).toBeGreaterThan(3_500_000);
  expect((await lab.drive(body)).outcome.status).toBe("suspended");
  expect(server.requests).toHaveLength(1);
});

describe("over a journal", () => {
  const opened = (storage: MemoryStorage): Promise<Journal> => Journal.open("j", { storage });

  test("refusals are waited out; what fails for good is not kept, and asked for again", async () => {
    const server = await provider();
    const storage = new MemoryStorage();
    const ask = generate(latest, latest.models.chat(server.url));
    server.troubles.push(refused(3), refused(3), refused(3), refused(3));
    const journal = await opened(storage);
    const error: unknown = await ask(journal).catch((thrown: unknown) => thrown);
    expect(latest.ai.APICallError.isInstance(error)).toBe(true);
    expect(server.requests).toHaveLength(3);
    // The failed call left its record to this one.
    expect(await ask(journal)).toBe("one two three four, answer 5");
    expect(await ask(await opened(storage))).toBe("one two three four, answer 5");
    expect(server.requests).toHaveLength(5);
  });

  test("a stream that broke is not kept", async () => {
    const server = await provider();
    const storage = new MemoryStorage();
    const ask = stream(latest, latest.models.chat(server.url));
    server.troubles.push({ cutAfter: 4 });
    server.paceMs = 10;
    const first = await ask(await opened(storage));
    expect(first.text).not.toContain("answer");
    expect(first.errors.length).toBeGreaterThan(0);
    const second = await ask(await opened(storage));
    expect(second).toMatchObject({ text: "one two three four, answer 2", errors: [] });
    expect((await ask(await opened(storage))).text).toBe(second.text);
    expect(server.requests).toHaveLength(2);
  });

  test("an aborted wait for a retry gives up at once", async () => {
    const server = await provider();
    server.troubles.push({ status: 429, headers: { "retry-after": "3600" } });
    const abort = new AbortController();
    const model = durableModel(await opened(new MemoryStorage()), latest.models.chat(server.url));
    const asked = latest.ai.generateText({ model, prompt: "?", abortSignal: abort.signal });
    const thrown = asked.catch((error: unknown) => error);
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    setTimeout(() => abort.abort(), 100);
    expect(await thrown).toMatchObject({ name: "AbortError" });
    expect(server.requests).toHaveLength(1);
  });
});
