import { expect, test } from "vitest";
import { answerOf, appraisalReview, creditReview } from "../src/reviews.ts";

test("words on a command line become an answer", () => {
  expect(answerOf({ verdict: "approve" })).toEqual({ approved: true });
  expect(answerOf({ verdict: "reject", comment: "no" })).toEqual({ approved: false, comment: "no" });
  expect(answerOf({ verdict: "approve", limit: "240000" })).toEqual({ approved: true, limit: 240_000 });
  expect(answerOf({ verdict: "approve", value: "310000" })).toEqual({ approved: true, value: 310_000 });
});

test.each([
  [{ verdict: undefined }, "Say approve or reject after the token."],
  [{ verdict: "maybe" }, 'Say approve or reject after the token, not "maybe".'],
  [{ verdict: "approve", limit: "lots" }, '--limit is "lots".'],
  [{ verdict: "approve", value: "-1" }, '--value is "-1".'],
])("%o is refused with the reason", (said, message) => {
  expect(() => answerOf(said)).toThrow(message);
});

test("each review takes its own figure, and no other", () => {
  expect(creditReview.safeParse({ approved: true, limit: 1 }).success).toBe(true);
  expect(creditReview.safeParse({ approved: true, value: 1 }).success).toBe(false);
  expect(appraisalReview.safeParse({ approved: true, limit: 1 }).success).toBe(false);
  expect(appraisalReview.safeParse({ approved: true, value: 0 }).success).toBe(false);
});
