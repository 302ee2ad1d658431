/** What the routes answer, on workerd as it is deployed: with a key, and not in development. */

import { assertAccess } from "example-llm/edge";
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

const key = { authorization: "Bearer let-me-in" };
const start = (id: string, topic: unknown = "Rain"): Promise<Answer> =>
  emulator.ask("/runs", { id, topic }, key);
const tokenOf = ({ body }: Answer): string => (body as { waiting: { token: string }[] }).waiting[0]!.token;
const resume = (token: string, value: unknown): Promise<Answer> => emulator.ask("/resume", { token, value });
const statusOf = ({ status, body }: Answer): unknown => [status, (body as { status: string }).status];
const codeOf = ({ status, body }: Answer): unknown => [
  status,
  (body as { error: { code: string } }).error.code,
];

describe("who may", () => {
  test("starting and reading a run need the key; a token is enough to answer", async () => {
    const parked = await start("door");
    expect(statusOf(parked)).toEqual([200, "suspended"]);
    for (const headers of [{}, { authorization: "Bearer let-me-i" }, { authorization: "let-me-in" }]) {
      expect(codeOf(await emulator.ask("/runs", { topic: "Rain" }, headers))).toEqual([403, "forbidden"]);
      const read = await emulator.ask("/runs/door", undefined, headers);
      expect(codeOf(read)).toEqual([403, "forbidden"]);
      expect(JSON.stringify(read)).not.toContain(tokenOf(parked));
    }
    expect(statusOf(await emulator.ask("/runs/door", undefined, key))).toEqual([200, "suspended"]);
    expect(statusOf(await resume(tokenOf(parked), { approved: false }))).toEqual([200, "accepted"]);
  });

  test("a key that was forgotten shuts the door, but in development", async () => {
    const request = new Request("http://localhost/runs");
    await expect(assertAccess(request, {})).rejects.toMatchObject({ code: "forbidden" });
    await expect(assertAccess(request, { DEV: "true" })).rejects.toMatchObject({ code: "forbidden" });
    await assertAccess(request, { DEV: "1" });
    // A key that is set is asked for there, too.
    await expect(assertAccess(request, { DEV: "1", API_KEY: "k" })).rejects.toMatchObject({
      code: "forbidden",
    });
  });
});

describe("what is answered", () => {
  test("an answer that does not fit leaves the wait open; the first that fits counts", async () => {
    const token = tokenOf(await start("answers"));
    expect(statusOf(await resume(token, "yes"))).toEqual([422, "invalid"]);
    expect(await resume(token, { approved: true })).toMatchObject({
      status: 200,
      body: { status: "accepted", outcome: { status: "completed", output: { published: true } } },
    });
    expect(statusOf(await resume(token, { approved: false }))).toEqual([409, "duplicate"]);
    expect(statusOf(await resume(`${token.slice(0, -1)}${token.endsWith("a") ? "b" : "a"}`, true))).toEqual([
      404,
      "unknown",
    ]);
    expect(await start("answers"), "the outcome is kept").toMatchObject({
      status: 200,
      body: { status: "completed", recorded: true, served: { ran: [], journal: [] } },
    });
  });

  test("one id is one run: at the same time, and not with another topic", async () => {
    const answers = await Promise.all([start("once"), start("once"), start("once")]);
    const ran = answers.flatMap(({ body }) => (body as { served: { ran: string[] } }).served.ran);
    expect(ran).toEqual(["outline", "draft"]);
    expect((await start("once", "Snow")).status).toBe(409);
  });

  test("an invalid request is refused", async () => {
    expect(codeOf(await start("bad", 7))).toEqual([422, "invalid-input"]);
    expect(codeOf(await start(7 as never))).toEqual([400, "invalid-id"]);
    expect(codeOf(await emulator.ask("/runs", [], key))).toEqual([400, "invalid-body"]);
    expect(codeOf(await emulator.ask("/runs/unknown", undefined, key))).toEqual([404, "not-found"]);
    expect(codeOf(await emulator.ask("/runs/%E0%A4", undefined, key))).toEqual([400, "invalid-path"]);
    expect(codeOf(await emulator.ask("/", undefined, key))).toEqual([404, "no-route"]);
    expect(codeOf(await emulator.ask("/resume"))).toEqual([404, "no-route"]);
    expect(codeOf(await emulator.ask("/runs", {}, { ...key, "content-type": "text/plain" }))).toEqual([
      415,
      "unsupported-type",
    ]);
  });
});
