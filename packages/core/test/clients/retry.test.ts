/** clientRetry decides by what the errors of real clients hold. */

import * as anthropic from "@anthropic-ai/sdk";
import { ApiError } from "@google/genai";
import { clientRetry, FatalError } from "@durable/core";
import { nextAttemptAt, retryPolicy } from "@durable/core/storage";
import * as openai from "openai";
import { describe, expect, test } from "vitest";

const policy = retryPolicy(clientRetry, "test");
const next = (error: unknown, attempt = 1): number | null =>
  nextAttemptAt(policy, { error, attempt }, { now: 0, random: 0.5 });

const makers = {
  openai: (status: number, headers: Headers) =>
    openai.APIError.generate(status, { message: "no" }, "no", headers),
  anthropic: (status: number, headers: Headers) =>
    anthropic.APIError.generate(status, { error: { message: "no" } }, "no", headers),
  google: (status: number) => new ApiError({ status, message: "no" }),
  "the AI SDK": (statusCode: number, headers: Headers) =>
    Object.assign(new Error("no"), { statusCode, responseHeaders: Object.fromEntries(headers) }),
  "a client with responses": (status: number, headers: Headers) =>
    Object.assign(new Error("no"), { response: { status, headers } }),
  "a wrapped error": (status: number, headers: Headers) =>
    new Error("ask failed", { cause: Object.assign(new Error("no"), { status, headers }) }),
};

describe.each(Object.entries(makers))("%s", (name, make) => {
  test.each([400, 401, 403, 404, 413, 422])("%i is asked once", (status) => {
    expect(next(make(status, new Headers()))).toBeNull();
  });

  test.each([408, 409, 429, 500, 502, 503, 529])("%i is asked three times", (status) => {
    expect([1, 2, 3].map((attempt) => next(make(status, new Headers()), attempt))).toEqual([
      500,
      1_000,
      null,
    ]);
  });

  test.runIf(name !== "google")("retry-after and x-should-retry are heard", () => {
    expect(next(make(429, new Headers({ "retry-after": "7" })))).toBe(7_000);
    expect(next(make(429, new Headers({ "retry-after-ms": "1500" })))).toBe(1_500);
    expect(next(make(500, new Headers({ "x-should-retry": "false" })))).toBeNull();
    expect(next(make(400, new Headers({ "x-should-retry": "true" })))).toBe(500);
  });
});

test("lost connections are tried again, aborts are not", () => {
  const lost = new TypeError("fetch failed", {
    cause: Object.assign(new Error("x"), { code: "ECONNRESET" }),
  });
  expect(next(lost)).toBe(500);
  expect(next(new openai.APIConnectionError({ cause: lost }))).toBe(500);
  expect(next(new anthropic.APIConnectionError({ cause: lost }))).toBe(500);
  expect(next(new openai.APIUserAbortError())).toBeNull();
  expect(next(new anthropic.APIUserAbortError())).toBeNull();
  expect(next(new DOMException("stop", "AbortError"))).toBeNull();
  expect(next(new FatalError("no"))).toBeNull();
  expect(next("a text")).toBe(500);
});

test("it is a policy like any other, to be spread", () => {
  const more = retryPolicy({ ...clientRetry, attempts: 5 }, "test");
  const error = Object.assign(new Error("no"), { status: 500 });
  expect(nextAttemptAt(more, { error, attempt: 4 }, { now: 0, random: 0 })).toBe(0);
});
