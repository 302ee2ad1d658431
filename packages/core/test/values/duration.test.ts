import type { Duration } from "@durable/core";
import { describe, expect, it } from "vitest";
import { endOfTime, toMs } from "../../src/values/duration.ts";
import { codeOf, messageOf } from "../support/codec-failure.ts";

const year = 365.25 * 86_400_000;

describe("toMs", () => {
  it.each<[string | number, number]>([
    [0, 0],
    [1_500, 1_500],
    ["0s", 0],
    ["500ms", 500],
    ["1 milli", 1],
    ["2 millis", 2],
    ["1 millisecond", 1],
    ["7 milliseconds", 7],
    ["2s", 2_000],
    ["1 sec", 1_000],
    ["3 secs", 3_000],
    ["1 second", 1_000],
    ["90 seconds", 90_000],
    ["15m", 900_000],
    ["1 min", 60_000],
    ["2 mins", 120_000],
    ["1 minute", 60_000],
    ["15 minutes", 900_000],
    ["1.5h", 5_400_000],
    ["1 hr", 3_600_000],
    ["2 hrs", 7_200_000],
    ["1 hour", 3_600_000],
    ["36 hours", 129_600_000],
    ["1d", 86_400_000],
    ["1 day", 86_400_000],
    ["3 days", 259_200_000],
    ["1w", 604_800_000],
    ["2 weeks", 1_209_600_000],
    ["1y", year],
    ["1 yr", year],
    ["2 yrs", 2 * year],
    ["10 years", 10 * year],
    ["  3 Days ", 259_200_000],
    ["5 M", 300_000],
    [endOfTime, endOfTime],
  ])("reads %j", (duration, ms) => {
    expect(toMs(duration as Duration)).toBe(ms);
  });

  it("gives whole milliseconds: storages keep times as integers", () => {
    expect(toMs(0.5)).toBe(1);
    expect(toMs("1.5ms")).toBe(2);
    expect(toMs("0.0001s")).toBe(0);
    expect(toMs("0.07s")).toBe(70);
    expect(Object.is(toMs(-0), 0)).toBe(true);
  });

  it.each<[unknown]>([
    [-1],
    [Number.NaN],
    [Infinity],
    [-Infinity],
    [endOfTime * 2],
    [""],
    [" "],
    ["5"],
    ["s"],
    ["5 parsecs"],
    ["-5s"],
    ["+5s"],
    ["1e3s"],
    ["1h30m"],
    ["1,5h"],
    [".5h"],
    ["5."],
    ["2 months"],
    ["NaN ms"],
    ["Infinity days"],
    ["３ days"],
    [`${"9".repeat(400)}s`],
    [`${"9".repeat(20)} years`],
  ])("refuses %j with `invalid-options`", (duration) => {
    expect(codeOf(() => toMs(duration as Duration, "The timeout"))).toBe("invalid-options");
  });

  it("refuses whatever is no duration at all, without a failure of its own", () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    for (const value of [null, undefined, true, 5n, Symbol("5s"), {}, ["5s"], new Date(), cyclic, () => 5])
      expect(codeOf(() => toMs(value as Duration, "The timeout"))).toBe("invalid-options");
  });

  it("says what was given, of what, and what to write", () => {
    expect(messageOf(() => toMs("soon" as Duration, "retry.delay"))).toMatch(
      /^retry\.delay is "soon", which is not a valid duration\. .*"3 days"/,
    );
    expect(messageOf(() => toMs(Number.NaN))).toContain("duration is NaN");
    expect(messageOf(() => toMs(Infinity))).toContain("duration is Infinity");
    expect(messageOf(() => toMs("x".repeat(1e6) as Duration)).length).toBeLessThan(400);
  });
});
