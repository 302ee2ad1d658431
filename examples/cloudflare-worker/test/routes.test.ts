/** What the routes answer, on workerd as it is deployed: with a key, and not in development. */

import { mayAccess } from "example-llm/edge";
import { Emulator, type Answer } from "example-llm/emulator";
import { Place } from "example-llm/process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const place = new Place("cloudflare-worker");
let emulator: Emulator;
beforeAll(async () => {
  emulator = await Emulator.start({
    example: place.example,
    folder: place.folder,
    vars: {
      API_KEY: "let-me-in",
      SECRET: "a secret for tests, of no worth",
      LLM_PROVIDER: "offline",
      DEMO_PACE: "0",
    },
  });
}, 300_000);
afterAll(async () => {
  await emulator.kill();
  place.remove();
});

interface Read {
  readonly status: string;
  readonly waiting?: readonly { readonly token: string; readonly note: { readonly draft: string } }[];
}

const key = { authorization: "Bearer let-me-in" };
const start = (id: string, input: unknown = { topic: "Rain" }, headers: Record<string, string> = key) =>
  emulator.ask("/runs", { workflow: "announcement", id, input }, headers);
const resume = (token: string, value: unknown): Promise<Answer> =>
  emulator.ask(`/resume/${token}`, { value });
const statusOf = ({ status, body }: Answer): unknown => [status, (body as Read).status];
const codeOf = ({ status, body }: Answer): unknown => [
  status,
  (body as { error: { code: string } }).error.code,
];

/** Reads a run until it has this status. Reading drives nothing. */
async function until(id: string, status: string): Promise<Read> {
  for (;;) {
    const run = (await emulator.ask(`/runs/${id}`, undefined, key)).body as Read;
    if (run.status === status) return run;
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
}

async function parked(id: string, input?: unknown): Promise<{ token: string; draft: string }> {
  expect(statusOf(await start(id, input))).toEqual([202, "running"]);
  const [point] = (await until(id, "suspended")).waiting ?? [];
  return { token: point?.token ?? "", draft: point?.note.draft ?? "" };
}

describe("who may", () => {
  test("starting and reading a run need the key; a token is enough to answer", async () => {
    const { token } = await parked("door");
    for (const headers of [{}, { authorization: "Bearer let-me-i" }, { authorization: "let-me-in" }]) {
      expect(codeOf(await start("other", { topic: "Rain" }, headers))).toEqual([403, "forbidden"]);
      const read = await emulator.ask("/runs/door", undefined, headers);
      expect(codeOf(read)).toEqual([403, "forbidden"]);
      expect(JSON.stringify(read)).not.toContain(token);
    }
    expect(statusOf(await resume(token, { approved: false }))).toEqual([200, "accepted"]);
  });

  test("a key that was forgotten shuts the door, but in development", async () => {
    const request = new Request("http://localhost/runs");
    await expect(mayAccess(request, {})).rejects.toMatchObject({ code: "forbidden" });
    await expect(mayAccess(request, { DEV: "true" })).rejects.toMatchObject({ code: "forbidden" });
    await mayAccess(request, { DEV: "1" });
    // A key that is set is asked for there, too.
    await expect(mayAccess(request, { DEV: "1", API_KEY: "k" })).rejects.toMatchObject({
      code: "forbidden",
    });
  });
});

describe("what is answered", () => {
  test("an answer that does not fit leaves the wait open; the first that fits counts", async () => {
    const { token, draft } = await parked("answers");
    for (const value of ["yes", {}, { approved: "yes" }]) {
      const refused = await resume(token, value);
      expect(statusOf(refused)).toEqual([422, "invalid"]);
      // A token is the permission to answer, and not to read.
      for (const secret of [token, draft, "waiting"]) expect(JSON.stringify(refused)).not.toContain(secret);
    }
    expect(statusOf(await resume(token, { approved: true }))).toEqual([200, "accepted"]);
    expect(await until("answers", "completed")).toMatchObject({ output: { published: true } });
    expect(statusOf(await resume(token, { approved: false }))).toEqual([409, "duplicate"]);
    const forged = `${token.slice(0, -1)}${token.endsWith("a") ? "b" : "a"}`;
    expect(statusOf(await resume(forged, true))).toEqual([404, "unknown"]);
  });

  test("a run sleeps until its embargo is over, and wakes without a request that drives it", async () => {
    const { token } = await parked("embargo", { topic: "Rain", embargo: 2 });
    expect(statusOf(await resume(token, { approved: true }))).toEqual([200, "accepted"]);
    expect(await until("embargo", "suspended")).toMatchObject({ state: "sleeping" });
    expect(await until("embargo", "completed")).toMatchObject({ output: { published: true } });
  });

  test("one id is one run: at the same time, and not with another topic", async () => {
    await Promise.all([start("once"), start("once"), start("once")]);
    await until("once", "suspended");
    const { body } = await emulator.ask("/runs/once/entries", undefined, key);
    const { entries } = body as { entries: { kind: string; key: string }[] };
    const steps = entries.filter(({ kind }) => kind === "step.completed");
    expect(steps.map((entry) => entry.key)).toEqual(["outline", "draft"]);
    expect((await start("once", { topic: "Snow" })).status).toBe(409);
  });

  test("an invalid request is refused", async () => {
    expect(codeOf(await start("bad", { topic: 7 }))).toEqual([422, "invalid-input"]);
    expect(codeOf(await emulator.ask("/runs", [], key))).toEqual([400, "invalid-body"]);
    expect(codeOf(await emulator.ask("/runs/unknown", undefined, key))).toEqual([404, "not-found"]);
    expect(codeOf(await emulator.ask("/", undefined, key))).toEqual([404, "no-route"]);
  });
});
