/** What one request and one caller can use up. The table is in docs/security.md. */

import { createApp, durable, MemoryStorage, type Verdict } from "@durable/core";
import { expect, onTestFinished, test } from "vitest";
import { createHandler, defaultLimits, toJson, type Handler } from "../src/index.ts";

const MiB = 1024 * 1024;
const block = "x".repeat(MiB);

/** The input of these runs is large once, and recorded many times. */
const copies = durable("copies", async (ctx, times: number) => {
  for (let n = 0; n < times; n++) await ctx.step(`copy-${n}`, () => ({ block }));
});
const waits = durable("waits", (ctx) => ctx.suspend("ask"));

function served(verdict: (request: Request) => Verdict = () => true, limits = {}): Handler {
  const secret = "a secret for tests, long enough";
  const app = createApp({ storage: new MemoryStorage(), workflows: [copies, waits], secret, bind: false });
  onTestFinished(() => app.close());
  return createHandler(app, { authorize: verdict, limits, answerWithin: "30s" });
}

async function started(handler: Handler, body: object): Promise<Response> {
  return handler(new Request("http://x/runs", { method: "POST", headers: json, body: JSON.stringify(body) }));
}

const json = { "content-type": "application/json" };

interface Page {
  readonly entries: readonly { readonly seq: number }[];
  readonly next: number | null;
}

async function ended(handler: Handler, id: string): Promise<void> {
  const status = async (): Promise<unknown> =>
    ((await (await handler(new Request(`http://x/runs/${id}`))).json()) as { status: unknown }).status;
  await expect.poll(status, { timeout: 20_000 }).toBe("completed");
}

test("a page of entries is closed at 4 MiB, and pages give every entry once", async () => {
  const handler = served();
  await started(handler, { workflow: "copies", input: 20, id: "big" });
  await ended(handler, "big");
  const seen: number[] = [];
  let [after, pages] = [0, 0];
  for (let next: number | null = 0; next !== null; after = next ?? 0, pages++) {
    const reply = await handler(new Request(`http://x/runs/big/entries?limit=1000&after=${after}`));
    const text = await reply.text();
    expect(text.length).toBeLessThan(defaultLimits.pageBytes + 1_000);
    const page = JSON.parse(text) as Page;
    seen.push(...page.entries.map(({ seq }) => seq));
    next = page.next;
  }
  expect(seen).toEqual(Array.from({ length: 22 }, (_, n) => n + 1));
  expect(pages).toBeLessThanOrEqual(8);
});

test("an entry that is larger than a page is sent alone, and bytes count rather than characters", async () => {
  const handler = served(() => true, { pageBytes: 1_000 });
  await started(handler, { workflow: "copies", input: 2, id: "big" });
  await ended(handler, "big");
  const seqs = [];
  for (let next: number | null = 0; next !== null;) {
    const page = (await (
      await handler(new Request(`http://x/runs/big/entries?after=${next}`))
    ).json()) as Page;
    seqs.push(page.entries.map(({ seq }) => seq));
    next = page.next;
  }
  expect(seqs).toEqual([[1], [2], [3], [4]]);
});

test("a value whose parts are shared is cut before it grows beyond what a value may have", () => {
  const shared = { block };
  const text = JSON.stringify(toJson(Array.from({ length: 5_000 }, () => shared)));
  expect(text.length).toBeLessThan(66 * MiB);
  expect(text).toContain('"[cut]"');
  expect(toJson([shared, shared])).toEqual([shared, shared]);
});

test("a scope has its share of the streams, and leaves the rest to others", async () => {
  const handler = served((request) => ({ scope: request.headers.get("x-user") ?? "" }), {
    streams: 5,
    streamsPerScope: 2,
  });
  for (const id of ["m-1", "v-1"])
    await handler(
      new Request("http://x/runs", {
        method: "POST",
        headers: { ...json, "x-user": id },
        body: JSON.stringify({ workflow: "waits", id }),
      }),
    );
  const open = (user: string): Promise<Response> =>
    handler(new Request(`http://x/runs/${user}/streams/feed`, { headers: { "x-user": user } }));
  const mine = [await open("m-1"), await open("m-1")];
  const refused = await open("m-1");
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({
    error: {
      code: "too-many-streams",
      message: "More than 2 of your streams are open. Close one of them.",
    },
  });
  const others = await open("v-1");
  expect(others.status).toBe(200);
  // A stream that ends gives its share back.
  await mine[0]?.body?.cancel();
  const again = await open("m-1");
  expect(again.status).toBe(200);
  expect((await open("m-1")).status).toBe(429);
  for (const reply of [mine[1], others, again]) await reply?.body?.cancel();
});

test("a client chooses a priority only as far as the policy says", async () => {
  const verdicts: Record<string, Verdict> = {
    none: { scope: "a" },
    some: { scope: "a", priority: 5 },
    wrong: { scope: "a", priority: "9" as unknown as number },
    all: true,
  };
  const handler = served((request) => verdicts[request.headers.get("x-user") ?? ""] ?? false);
  const start = async (user: string, priority?: number): Promise<number> => {
    const body = JSON.stringify({ workflow: "waits", ...(priority === undefined ? {} : { priority }) });
    const headers = { ...json, "x-user": user };
    return (await handler(new Request("http://x/runs", { method: "POST", headers, body }))).status;
  };
  expect(await Promise.all([start("none"), start("none", 0), start("none", -3), start("none", 1)])).toEqual([
    202, 202, 202, 403,
  ]);
  expect(await Promise.all([start("some", 5), start("some", 6)])).toEqual([202, 403]);
  expect(await start("wrong", 1)).toBe(403);
  expect(await start("all", 100)).toBe(202);
});
