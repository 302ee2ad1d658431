/** Answers by token: as JSON, as a form, by a person behind a link. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { createHandler } from "@durable/http";
import { expect, test } from "vitest";
import { z } from "zod";
import { lab, origin } from "./support/lab.ts";

const html = { accept: "text/html,application/xhtml+xml,*/*" };

test("an answer is taken once; who comes later learns that it was", async () => {
  const { app, post, waiting } = lab();
  const [token] = await waiting("review", "one");
  const first = await post(`/resume/${token}`, { value: { approved: true } });
  expect([first.status, await first.json()]).toEqual([
    200,
    { status: "accepted", repeated: false, runId: "one" },
  ]);
  const second = await post(`/resume/${token}`, { value: { approved: false } });
  expect([second.status, await second.json()]).toEqual([
    409,
    {
      status: "duplicate",
      repeated: false,
      runId: "one",
      error: { code: "duplicate", message: "This has been answered before." },
    },
  ]);
  expect(await app.get("one").result()).toEqual({ after: "done", verdict: { approved: true } });
});

test("H30 the same answer again, by its id, is taken again and counts once", async () => {
  const { app, post, form, waiting } = lab();
  const [token] = await waiting("open", "one");
  for (let i = 0; i < 3; i++)
    expect((await post(`/resume/${token}`, { value: 7, id: "mail-1" })).status).toBe(200);
  expect((await form(`/resume/${token}`, { value: "7", id: "mail-1" })).status).toBe(200);
  expect((await post(`/resume/${token}`, { value: 7, id: "mail-2" })).status).toBe(409);
  const answers = (await app.get("one").entries()).filter(({ kind }) => kind === "suspend.resolved");
  expect(answers.length).toBe(1);
});

test("H29 of 32 answers at once one is taken, and what follows runs once", async () => {
  let acted = 0;
  const flow = durable("once", async (ctx) => {
    const value = await ctx.suspend<number>("which");
    return ctx.step("act", () => ((acted += 1), value));
  });
  const { app, post, waiting } = lab({ workflows: [flow] });
  const [token] = await waiting("once", "one");
  const statuses = await Promise.all(
    Array.from({ length: 32 }, async (_, value) => (await post(`/resume/${token}`, { value })).status),
  );
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, ...Array.from({ length: 31 }, () => 409)]);
  const winner = statuses.indexOf(200);
  expect([await app.get("one").result(), acted]).toEqual([winner, 1]);
});

test("H33 each token answers its own wait, whichever comes first; late and cancelled are distinguished", async () => {
  const { app, post, waiting } = lab();
  const [a, b] = await waiting("two", "one");
  expect((await post(`/resume/${b}`, { value: "for b" })).status).toBe(200);
  expect((await post(`/resume/${a}`, { value: "for a" })).status).toBe(200);
  expect(await app.get("one").result()).toEqual({ a: "for a", b: "for b" });
  const [cancelled] = await waiting("open", "gone");
  await app.cancel("gone");
  const [deleted] = await waiting("open", "deleted");
  await app.delete("deleted");
  const statuses = [];
  for (const token of [cancelled, deleted])
    statuses.push((await post(`/resume/${token}`, { value: 1 })).status);
  expect(statuses).toEqual([410, 404]);
});

test("H34 an answer that does not fit says why and leaves the wait open", async () => {
  const { app, post, form, waiting } = lab();
  const [token] = await waiting("review", "one");
  const wrong = await post(`/resume/${token}`, { value: { approved: "<b>yes</b>" } });
  expect([wrong.status, await wrong.json()]).toMatchObject([
    422,
    { status: "invalid", runId: "one", issues: expect.stringContaining("approved") as string },
  ]);
  const page = await form(`/resume/${token}`, { value: "yes" }, html);
  expect([page.status, page.headers.get("content-type")]).toEqual([422, "text/html; charset=utf-8"]);
  expect((await app.get("one").outcome()).status).toBe("suspended");
  expect((await post(`/resume/${token}`, { value: { approved: false } })).status).toBe(200);
});

test("H27 an answer before its wait is open is kept; one after its time has run out is late", async () => {
  const gate = Promise.withResolvers<void>();
  const early = durable("early", async (ctx) => {
    const wait = ctx.suspend<string>("word");
    await ctx.step("slow", async () => {
      tokens.push(wait.token);
      await gate.promise;
    });
    return wait;
  });
  const late = durable("late", (ctx) => ctx.suspend("soon", { timeout: "1h", fallback: "none came" }));
  const tokens: string[] = [];
  let aheadMs = 0;
  const world = { ...systemWorld, now: () => systemWorld.now() + aheadMs };
  const { app, post, waiting } = lab({ world, workflows: [early, late], answerWithin: 20 });
  const run = await app.start("early", undefined, { id: "e" });
  while (tokens.length === 0) await new Promise((done) => setTimeout(done, 5));
  expect((await post(`/resume/${tokens[0]}`, { value: "kept" })).status).toBe(200);
  gate.resolve();
  expect(await run.result()).toBe("kept");
  const [token] = await waiting("late", "l");
  aheadMs = 3_600_000;
  expect((await post(`/resume/${token}`, { value: 1 })).status).toBe(410);
  expect(await app.get("l").result()).toBe("none came");
});

test("an answer is acknowledged when it is durable, not when the run is through", async () => {
  const gate = Promise.withResolvers<void>();
  const slow = durable("slow", async (ctx) => {
    const value = await ctx.suspend("go");
    await ctx.step("work", () => gate.promise);
    return value;
  });
  const kept: Promise<unknown>[] = [];
  const { app, post, waiting } = lab({
    workflows: [slow],
    answerWithin: 30,
    waitUntil: (work) => void kept.push(work),
  });
  const [token] = await waiting("slow", "one");
  const response = await post(`/resume/${token}`, { value: 5 });
  expect([response.status, await response.json()]).toEqual([
    200,
    { status: "accepted", repeated: false, runId: "one" },
  ]);
  expect((await post(`/resume/${token}`, { value: 6 })).status).toBe(409);
  expect(kept.length).toBe(1);
  gate.resolve();
  await Promise.all(kept);
  expect(await app.get("one").result()).toBe(5);
  const answers = (await app.get("one").entries()).filter(({ kind }) => kind.startsWith("suspend.re"));
  expect(answers.length).toBe(1);
});

test("an answer for code that is not here, or does not fit, is kept for the code that does", async () => {
  const storage = new MemoryStorage();
  const { app, waiting } = lab({ storage });
  const [absent] = await waiting("open", "absent");
  const [changed] = await waiting("open", "changed");
  const other = durable("open", async (ctx) => ctx.sleep("1h", { name: "anything" }));
  const elsewhere = lab({ storage, workflows: [] });
  const newer = lab({ storage, workflows: [other] });
  expect((await elsewhere.post(`/resume/${absent}`, { value: 1 })).status).toBe(200);
  expect((await newer.post(`/resume/${changed}`, { value: 2 })).status).toBe(200);
  expect([elsewhere.errors, newer.errors]).toEqual([[], []]);
  await app.advance("absent");
  await app.advance("changed");
  expect(await app.get("absent").result()).toEqual({ answer: 1 });
  expect(await app.get("changed").result()).toEqual({ answer: 2 });
});

test("T1 a link scanner's GET and HEAD see a page and resume nothing", async () => {
  const { app, get, handler, waiting } = lab();
  const [token] = await waiting("review", "one");
  const before = await app.get("one").entries();
  const pages = new Set<string>();
  for (const name of [token, token?.toUpperCase(), "forged", "%3Cscript%3E", "x".repeat(5_000)]) {
    const page = await get(`/resume/${name}?value=%7B%22approved%22%3Atrue%7D&utm_source=mail`, html);
    expect(page.status).toBe(200);
    pages.add(JSON.stringify([[...page.headers], await page.text()]));
    const head = await handler(new Request(`${origin}/resume/${name}`, { method: "HEAD" }));
    expect([head.status, await head.text()]).toEqual([200, ""]);
  }
  expect(pages.size).toBe(1);
  expect(await app.get("one").entries()).toEqual(before);
});

test("P1 the page has no scripts, loads nothing, is in no frame, cache or referrer, and holds no token", async () => {
  const { get, waiting } = lab();
  const [token = ""] = await waiting("open", "one");
  const page = await get(`/resume/${token}`);
  const text = await page.text();
  const style = /<style>([^]*)<\/style>/.exec(text)?.[1] ?? "";
  const hash = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style))).toString(
    "base64",
  );
  expect(page.headers.get("content-security-policy")).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  );
  expect(Object.fromEntries(page.headers)).toMatchObject({
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
  });
  expect(text).toMatch(/<form method="post">/);
  expect(text).not.toMatch(/script|href|src=|action=|@import|url\(/i);
  expect(text).not.toContain(token);
});

test("a value that the link brings along is shown as text, whatever it holds, and comes back as it was", async () => {
  const { app, get, form, waiting } = lab();
  const [token] = await waiting("open", "one");
  const nasty = `"><script>alert(1)</script>'&amp;\r\n\u2028é`;
  const page = await (await get(`/resume/${token}?value=${encodeURIComponent(nasty)}`)).text();
  expect(page).not.toContain("<script");
  const hidden = /name="value" value="([^"]*)"/.exec(page)?.[1] ?? "";
  const entities: Record<string, string> = {
    lt: "<",
    gt: ">",
    quot: '"',
    amp: "&",
    "#39": "'",
    "#13": "\r",
    "#10": "\n",
  };
  const value = hidden.replace(/&([^;]+);/g, (_, name: string) => entities[name] ?? "");
  expect(hidden).not.toMatch(/[<>']/);
  expect(value).toBe(nasty);
  const sent = await form(`/resume/${token}`, { value }, html);
  expect([sent.status, await sent.text()]).toMatchObject([
    200,
    expect.stringContaining("Thank you") as string,
  ]);
  expect(await app.get("one").result()).toEqual({ answer: nasty });
  expect((await get(`/resume/x?value=${"v".repeat(4_097)}`)).status).toBe(400);
  expect((await get("/resume/x?value=a&value=b")).status).toBe(400);
});

test("what a schema says about an answer is shown as text, however much of the answer it repeats", async () => {
  const mirror = z.unknown().refine(() => false, { error: ({ input }) => `not ${String(input)}` });
  const picky = durable("picky", (ctx) => ctx.suspend("ask", { schema: mirror }));
  const { form, waiting } = lab({ workflows: [picky] });
  const [token] = await waiting("picky", "one");
  const page = await form(`/resume/${token}`, { value: "<script>alert(1)</script>" }, html);
  expect(page.status).toBe(422);
  expect(await page.text()).toContain("not &lt;script&gt;alert(1)&lt;/script&gt;");
});

test.each([
  ["true", true],
  ['{"approved":true}', { approved: true }],
  ["17", 17],
  ["null", null],
  ["approve", "approve"],
  ["", ""],
  ["{not json", "{not json"],
  ['"quoted"', "quoted"],
])("the text %j of a form is the value %j", async (text, value) => {
  const { app, form, waiting } = lab();
  const [token] = await waiting("open", "one");
  const response = await form(`/resume/${token}`, { value: text });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
  expect(await app.get("one").result()).toEqual({ answer: value });
});

test.each([
  ["JSON without a value", "application/json", '{"id":"x"}', 400],
  ["JSON with more", "application/json", '{"value":1,"token":"y"}', 400],
  ["JSON that is not an object", "application/json", "true", 400],
  ["an id that is not a string", "application/json", '{"value":1,"id":{}}', 400],
  ["an id without characters", "application/json", '{"value":1,"id":""}', 400],
  ["an id of 257 characters", "application/json", `{"value":1,"id":"${"i".repeat(257)}"}`, 400],
  ["a form without a value", "application/x-www-form-urlencoded", "id=x", 400],
  ["a form with two values", "application/x-www-form-urlencoded", "value=1&value=2", 400],
  ["a form with more", "application/x-www-form-urlencoded", "value=1&then=2", 400],
  ["an empty form", "application/x-www-form-urlencoded", "", 400],
  ["plain text", "text/plain", "value=1", 415],
  ["a multipart form", "multipart/form-data; boundary=x", "--x--", 415],
])("%s is refused, alike for genuine and forged tokens", async (_what, type, body, status) => {
  const { app, handler, waiting } = lab();
  const [token] = await waiting("open", "one");
  const before = await app.get("one").entries();
  const replies = new Set<string>();
  for (const name of [token, "forged"]) {
    const response = await handler(
      new Request(`${origin}/resume/${name}`, { method: "POST", body, headers: { "content-type": type } }),
    );
    expect(response.status).toBe(status);
    replies.add(await response.text());
  }
  expect(replies.size).toBe(1);
  expect(await app.get("one").entries()).toEqual(before);
});

test("an app whose secret is missing fails as our fault, without a word about tokens", async () => {
  const app = createApp({ storage: new MemoryStorage(), workflows: [] });
  const errors: unknown[] = [];
  const handler = createHandler(app, { onError: (error) => errors.push(error) });
  const response = await handler(
    new Request(`${origin}/resume/x`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"value":1}',
    }),
  );
  expect([response.status, errors.length]).toEqual([500, 1]);
  expect(await response.text()).not.toContain("createApp");
});
