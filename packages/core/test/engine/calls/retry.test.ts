import { describe, expect, it } from "vitest";
import {
  nextAttemptAt,
  retryPolicy,
  type RetryOptions,
  type RetryPolicy,
} from "../../../src/engine/calls/retry.ts";
import { DurableError, FatalError, RetryError, type ErrorCode } from "../../../src/values/errors.ts";
import type { Duration } from "../../../src/values/duration.ts";
import { limits } from "../../../src/values/limits.ts";
import { codeOf, messageOf } from "../../support/codec-failure.ts";

const now = 1_700_000_000_000;
const steady: RetryPolicy = { attempts: 5, delay: 1_000, factor: 2, maxDelay: 10_000, jitter: false };
const where = 'The step "draft" of run r-17';

/** How long after `now` the next attempt is, or null. */
function wait(error: unknown, attempt = 1, policy: RetryPolicy = steady, random = 0.5): number | null {
  const at = nextAttemptAt(policy, { error, attempt }, { now, random });
  return at === null ? null : at - now;
}
const failing = (fields: object): Error => Object.assign(new Error("429"), fields);
const retryAfter = (after: unknown): RetryError => new RetryError("later", { after: after as Duration });
const boom = (): never => {
  throw new Error("boom");
};
class Declined extends FatalError {
  override name = "Declined";
}
class Busy extends RetryError {
  override name = "Busy";
}

describe("retryPolicy", () => {
  it("has three attempts, a second, doubled, a minute at most, with jitter, by default", () => {
    const standard = { attempts: 3, delay: 1_000, factor: 2, maxDelay: 60_000, jitter: true };
    expect(retryPolicy(undefined, where)).toEqual(standard);
    expect(retryPolicy({}, where)).toEqual(standard);
  });

  it("`false` is one attempt; durations may be texts", () => {
    expect(retryPolicy(false, where).attempts).toBe(1);
    const policy = retryPolicy(
      { attempts: 1, delay: "2s", factor: 1, maxDelay: "3 days", jitter: false },
      where,
    );
    expect(policy).toEqual({ attempts: 1, delay: 2_000, factor: 1, maxDelay: 259_200_000, jitter: false });
    expect(retryPolicy({ attempts: limits.attempts, delay: 0, maxDelay: 0 }, where).attempts).toBe(1_000);
  });

  it.each<[string, unknown]>([
    ["no attempts", { attempts: 0 }],
    ["fewer than none", { attempts: -1 }],
    ["half an attempt", { attempts: 1.5 }],
    ["too many", { attempts: limits.attempts + 1 }],
    ["attempts without end", { attempts: Infinity }],
    ["NaN", { attempts: Number.NaN }],
    ["a text", { attempts: "3" }],
    ["a BigInt", { attempts: 3n }],
    ["a shrinking factor", { factor: 0.5 }],
    ["a negative factor", { factor: -2 }],
    ["a factor of NaN", { factor: Number.NaN }],
    ["a factor that is a text", { factor: "2" }],
    ["a negative delay", { delay: -1 }],
    ["a delay in parsecs", { delay: "5 parsecs" }],
    ["a delay without end", { delay: Infinity }],
    ["a bad maxDelay", { maxDelay: "" }],
  ])("refuses %s", (_, options) => {
    expect(codeOf(() => retryPolicy(options as RetryOptions, where))).toBe("invalid-options");
  });

  it("says of which step", () => {
    expect(messageOf(() => retryPolicy({ attempts: 0 }, where))).toMatch(
      /^The step "draft" of run r-17 has invalid retry/,
    );
  });
});

describe("nextAttemptAt", () => {
  it("doubles up to its bound, and ends with the last attempt", () => {
    const error = new Error("x");
    const policy = { ...steady, attempts: 7 };
    const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => wait(error, attempt, policy));
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000, null, null]);
    expect(wait(error, 1, { ...steady, attempts: 1 })).toBeNull();
  });

  it("is never beyond maxDelay and never NaN, whatever the numbers", () => {
    for (const delay of [0, 1, 1_000, 1e15])
      for (const factor of [1, 1.5, 3, 1e300, Infinity])
        for (const maxDelay of [0, 500, 10_000])
          for (const attempt of [1, 2, 500, 999]) {
            const policy = { attempts: 1_000, delay, factor, maxDelay, jitter: false };
            const waited = wait(new Error("x"), attempt, policy);
            expect(waited, `attempt ${attempt} of ${JSON.stringify(policy)}`).toBeGreaterThanOrEqual(0);
            expect(waited).toBeLessThanOrEqual(maxDelay);
          }
  });

  it("full jitter: between nothing and the bound, in whole milliseconds", () => {
    const policy = { ...steady, jitter: true };
    for (const random of [0, 0.000_1, 0.25, 0.5, 0.999_999]) {
      for (const attempt of [1, 2, 3, 4]) {
        const bound = wait(new Error("x"), attempt) ?? 0;
        const drawn = wait(new Error("x"), attempt, policy, random) ?? -1;
        expect(drawn).toBe(Math.round(bound * random));
        expect(Number.isInteger(drawn)).toBe(true);
      }
    }
    expect(wait(new Error("x"), 1, policy, 0)).toBe(0);
  });

  it("takes anything that is thrown", () => {
    for (const thrown of ["text", 5, null, undefined, {}, Symbol("s"), () => 1])
      expect(wait(thrown)).toBe(1_000);
  });

  it("a FatalError is final, also a subclass, another copy's, and with attempts left", () => {
    expect(wait(new FatalError("no"))).toBeNull();
    expect(wait(new Declined("no"))).toBeNull();
    expect(wait(failing({ name: "FatalError" }))).toBeNull();
    expect(wait(new Error("x", { cause: new FatalError("no") }))).toBe(1_000);
  });

  it("what cannot be kept now cannot be kept next time; other errors of ours are tried again", () => {
    for (const code of ["not-serializable", "too-large", "too-deep", "limit"] satisfies ErrorCode[])
      expect(wait(new DurableError(code, "m"))).toBeNull();
    for (const code of ["step-timeout", "invalid-output", "storage-busy"] satisfies ErrorCode[])
      expect(wait(new DurableError(code, "m"))).toBe(1_000);
  });

  it("a provider's own verdict is believed", () => {
    expect(wait(failing({ isRetryable: false }))).toBeNull();
    expect(wait(failing({ isRetryable: true }))).toBe(1_000);
    expect(wait(failing({ isRetryable: undefined }))).toBe(1_000);
  });
});

describe("a delay that was asked for", () => {
  it("RetryError: text, milliseconds, Date; also a subclass, and beyond maxDelay", () => {
    expect(wait(retryAfter("30s"))).toBe(30_000);
    expect(wait(retryAfter(1_234))).toBe(1_234);
    expect(wait(retryAfter(0))).toBe(0);
    expect(wait(retryAfter("3 days"))).toBe(259_200_000);
    expect(wait(retryAfter(new Date(now + 5_000)))).toBe(5_000);
    expect(wait(retryAfter(new Date(now - 5_000)))).toBe(0);
    expect(wait(new Busy("later", { after: "7s" }))).toBe(7_000);
    expect(wait(failing({ name: "RetryError", after: "7s" }))).toBe(7_000);
  });

  it("does not add attempts", () => {
    expect(wait(retryAfter("1s"), 5)).toBeNull();
    expect(wait(failing({ responseHeaders: { "retry-after": "1" } }), 5)).toBeNull();
  });

  it("an unreadable time leaves the delay to the policy: a thrown error must not throw again", () => {
    const odd = [
      "soon",
      "",
      -5,
      Number.NaN,
      Infinity,
      null,
      undefined,
      {},
      5n,
      new Date(Number.NaN),
      Symbol("s"),
    ];
    for (const after of odd) expect(wait(retryAfter(after))).toBe(1_000);
    expect(wait(failing({ name: "RetryError" }))).toBe(1_000);
    expect(wait(failing({ after: "7s" }))).toBe(1_000);
  });

  it.each<[string, Record<string, string>, number]>([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["parts of a second", { "retry-after": "0.5" }, 500],
    ["none", { "retry-after": "0" }, 0],
    ["a date", { "retry-after": new Date(now + 9_000).toUTCString() }, 9_000],
    ["milliseconds", { "retry-after-ms": "250" }, 250],
    ["parts of a millisecond", { "retry-after-ms": "250.4" }, 250],
    ["milliseconds before seconds", { "retry-after-ms": "250", "retry-after": "7" }, 250],
    ["no milliseconds", { "retry-after-ms": "0", "retry-after": "7" }, 7_000],
    ["invalid milliseconds", { "retry-after-ms": "x", "retry-after": "7" }, 7_000],
    ["too long a time: a day at most", { "retry-after": "99999999" }, 86_400_000],
    ["too long in milliseconds", { "retry-after-ms": "1e300" }, 86_400_000],
    ["without end", { "retry-after": "Infinity" }, 86_400_000],
    ["a date far away", { "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" }, 86_400_000],
    ["a date gone by", { "retry-after": new Date(now - 9_000).toUTCString() }, 1_000],
    ["negative", { "retry-after": "-5" }, 1_000],
    ["nothing", { "retry-after": "" }, 1_000],
    ["words", { "retry-after": "soon" }, 1_000],
    ["no such header", { "content-type": "text/html" }, 1_000],
  ])("a provider's retry-after: %s", (_, headers, expected) => {
    const titled = Object.entries(headers).map(([name, value]) => [
      name.replace("retry-a", "Retry-A"),
      value,
    ]);
    for (const form of [
      headers,
      new Headers(headers),
      new Map(Object.entries(headers)),
      Object.fromEntries(titled),
    ]) {
      expect(wait(failing({ responseHeaders: form }))).toBe(expected);
      expect(wait(failing({ headers: form }))).toBe(expected);
    }
  });

  it("odd headers are ignored", () => {
    for (const headers of [null, undefined, 5, "retry-after: 5", []])
      expect(wait(failing({ headers }))).toBe(1_000);
  });

  it("an error whose fields throw says nothing, and throws nothing", () => {
    for (const key of ["name", "isRetryable", "responseHeaders", "headers", "after", "code"])
      expect(wait(Object.defineProperty(failing({}), key, { get: boom }))).toBe(1_000);
    expect(wait(failing({ headers: { get: boom } }))).toBe(1_000);
    expect(wait(Object.defineProperty(new RetryError("m", { after: 1 }), "after", { get: boom }))).toBe(
      1_000,
    );
  });

  it("gives whole milliseconds: storages keep times as integers", () => {
    for (const headers of [
      { "retry-after": "0.0007" },
      { "retry-after-ms": "0.3" },
      { "retry-after": "1.00049" },
    ])
      expect(Number.isInteger(wait(failing({ headers })))).toBe(true);
    expect(Number.isInteger(wait(retryAfter(1.5)))).toBe(true);
  });
});
