/** H62: forged tokens over HTTP. The long form is `npm run soak:tokens`. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { expect, inject, test } from "vitest";
import { bitFlips, forge, rotate } from "./support/forgery.ts";
import { lab, labSecret, origin } from "./support/lab.ts";

const [forged, real] = inject("full") ? [3_000, 5] : [600, 2];

test("H62 forged tokens and flipped bits: none is accepted, all get one answer, nothing is written", async () => {
  const { tried, flipped, accepted, answers, changed } = await forge({ forged, real, seed: 7 });
  expect({ tried, accepted, answers, changed }).toEqual({
    tried: forged,
    accepted: [],
    answers: 1,
    changed: 0,
  });
  // Of each token: 275 bits of symbols, and eight bits of each byte but those that only change case.
  expect(flipped).toBeGreaterThan(real * 55 * 11);
});

test("H62 a flipped token differs from its own in one symbol, and never only in case", () => {
  const token = "abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrstuvw";
  for (const flip of bitFlips(token)) {
    const different = Array.from(token).filter((letter, i) => flip.toLowerCase()[i] !== letter).length;
    expect([flip.length, different]).toEqual([55, 1]);
  }
});

test("H62 two rotations while runs wait: old tokens resume, those of a retired key are unknown", async () => {
  expect(await rotate(5)).toEqual({ issued: 15, resumed: 15, refused: 5 });
});

test("H62 a token of the parent does not answer its fork, nor the fork's the parent", async () => {
  const { app, post, waiting } = lab();
  const [parent] = await waiting("review", "parent");
  const fork = await app.get("parent").fork({ edit: {}, from: "verdict", id: "fork" });
  await fork.result().catch(() => {});
  const outcome = await fork.outcome();
  const own = outcome.status === "suspended" ? outcome.waiting[0]?.token : "";
  expect(own).not.toBe(parent);
  expect((await post(`/resume/${own}`, { value: { approved: true } })).status).toBe(200);
  expect((await app.get("parent").outcome()).status).toBe("suspended");
  expect((await post(`/resume/${parent}`, { value: { approved: false } })).status).toBe(200);
});

test("H62 an answer is the same for all that is unknown, to a browser too", async () => {
  const { form } = lab();
  const pages = new Set<string>();
  for (const token of ["x", "a".repeat(55), "%2e%2e%2f", "A".repeat(54)]) {
    const response = await form(`/resume/${token}`, { value: "1" }, { accept: "text/html" });
    expect(response.status).toBe(404);
    pages.add(JSON.stringify([[...response.headers], await response.text()]));
  }
  expect(pages.size).toBe(1);
});

test("H62 the storage is not asked about what is not genuine", async () => {
  const storage = new MemoryStorage();
  const app = createApp({
    storage,
    secret: labSecret,
    workflows: [durable("ask", (ctx) => ctx.suspend("x"))],
  });
  let asked = 0;
  const read = storage.read.bind(storage);
  storage.read = (...args) => ((asked += 1), read(...args));
  const { post } = lab({ storage });
  await post(`/resume/${"a".repeat(55)}`, { value: 1 });
  expect(asked).toBe(0);
  expect(app.workflows).toEqual(["ask"]);
});

test("a token survives a mail gateway: upper case and blanks around it", async () => {
  const { handler, waiting } = lab();
  const [token = ""] = await waiting("open", "one");
  const request = new Request(`${origin}/resume/%20${token.toUpperCase()}%0A`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"value":1}',
  });
  expect((await handler(request)).status).toBe(200);
});
