import { RetryError } from "@durable/core";
import { expect, test } from "vitest";
import { nextAttemptAt, retryPolicy } from "../src/engine/retry.ts";

test("a RetryError whose `after` cannot be read falls back to the policy's own delay", () => {
  const policy = retryPolicy({ delay: "1s", jitter: false }, "A step");
  const error = new RetryError("later", { after: "soon" });
  expect(nextAttemptAt(policy, { error, attempt: 1 }, { now: 0, random: 0 })).toBe(1_000);
});

test("a RetryError with an invalid Date falls back to the policy's own delay", () => {
  const policy = retryPolicy({ delay: "1s", jitter: false }, "A step");
  const error = new RetryError("later", { after: new Date(Number.NaN) });
  expect(nextAttemptAt(policy, { error, attempt: 1 }, { now: 0, random: 0 })).toBe(1_000);
});
