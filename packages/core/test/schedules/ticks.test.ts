import { describe, expect, test } from "vitest";
import { ticksOf, timingOf, type Ticks } from "../../src/schedules/ticks.ts";

const at = (text: string): number => Date.parse(text);
const cron = (expression: string, timezone = "UTC"): Ticks =>
  ticksOf(timingOf({ cron: expression, timezone }));

function take(ticks: Ticks, from: string, count: number): string[] {
  const found: string[] = [];
  for (let last: number | null = at(from); found.length < count;) {
    last = ticks.next(last);
    if (last === null) break;
    found.push(new Date(last).toISOString().slice(0, 16));
  }
  return found;
}

describe("a clock that is changed", () => {
  test("a time that does not exist happens when the clock goes on", () => {
    expect(take(cron("30 2 * * *", "Europe/Paris"), "2026-03-28T00:00Z", 3)).toEqual([
      "2026-03-28T01:30",
      "2026-03-29T01:00",
      "2026-03-30T00:30",
    ]);
  });

  test("a time that exists twice happens the first time", () => {
    expect(take(cron("30 2 * * *", "Europe/Paris"), "2026-10-24T00:00Z", 3)).toEqual([
      "2026-10-24T00:30",
      "2026-10-25T00:30",
      "2026-10-26T01:30",
    ]);
  });

  test("several times that do not exist are one tick", () => {
    expect(take(cron("0,30 2,3 * * *", "Europe/Paris"), "2026-03-29T00:59Z", 3)).toEqual([
      "2026-03-29T01:00",
      "2026-03-29T01:30",
      "2026-03-30T00:00",
    ]);
  });

  test("every hour is every hour that passes", () => {
    expect(take(cron("0 * * * *", "America/New_York"), "2026-11-01T03:30Z", 5)).toEqual([
      "2026-11-01T04:00",
      "2026-11-01T05:00",
      "2026-11-01T06:00",
      "2026-11-01T07:00",
      "2026-11-01T08:00",
    ]);
    expect(take(cron("0 * * * *", "America/New_York"), "2026-03-08T05:30Z", 3)).toEqual([
      "2026-03-08T06:00",
      "2026-03-08T07:00",
      "2026-03-08T08:00",
    ]);
  });

  test("a change of half an hour", () => {
    // 2:00 becomes 2:30 on the 4th of October; 2:00 becomes 1:30 on the 5th of April.
    expect(take(cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-02T16:00Z", 2)).toEqual([
      "2026-10-03T15:30",
      "2026-10-04T15:15",
    ]);
    expect(take(cron("45 1 * * *", "Australia/Lord_Howe"), "2026-04-03T15:00Z", 3)).toEqual([
      "2026-04-04T14:45",
      "2026-04-05T15:15",
      "2026-04-06T15:15",
    ]);
  });

  test("a midnight that does not exist", () => {
    expect(take(cron("0 0 * * *", "Africa/Cairo"), "2026-04-22T23:00Z", 2)).toEqual([
      "2026-04-23T22:00",
      "2026-04-24T21:00",
    ]);
  });

  test("a day that does not exist", () => {
    expect(take(cron("0 9 * * *", "Pacific/Apia"), "2011-12-29T00:00Z", 4)).toEqual([
      "2011-12-29T19:00",
      "2011-12-30T10:00",
      "2011-12-30T19:00",
      "2011-12-31T19:00",
    ]);
  });
});

describe("days", () => {
  test("the 29th of February", () => {
    expect(take(cron("0 0 29 2 *"), "2096-03-01T00:00Z", 1)).toEqual(["2104-02-29T00:00"]);
  });

  test("a day of the month or a day of the week, where both are given", () => {
    expect(take(cron("0 0 13 * fri"), "2026-11-01T00:00Z", 4)).toEqual([
      "2026-11-06T00:00",
      "2026-11-13T00:00",
      "2026-11-20T00:00",
      "2026-11-27T00:00",
    ]);
    expect(take(cron("0 0 1 * mon"), "2026-11-02T00:00Z", 2)).toEqual([
      "2026-11-09T00:00",
      "2026-11-16T00:00",
    ]);
  });

  test("the latest ticks of a long time are found from its end", () => {
    const ticks = cron("* * * * *");
    const until = at("2027-01-01T00:00:30Z");
    expect(ticks.last(at("2020-01-01T00:00Z"), until, 3)).toEqual(
      [2, 1, 0].map((minutes) => at("2027-01-01T00:00Z") - minutes * 60_000),
    );
    expect(ticks.last(until, until, 3)).toEqual([]);
    expect(cron("0 0 29 2 *").last(at("2020-01-01T00:00Z"), until, 10)).toEqual([
      at("2020-02-29T00:00Z"),
      at("2024-02-29T00:00Z"),
    ]);
  });
});

describe("periods", () => {
  const ticks = ticksOf(timingOf({ every: "15 minutes" }));

  test("are counted from the beginning of time", () => {
    expect(take(ticks, "2026-11-16T09:07:12Z", 2)).toEqual(["2026-11-16T09:15", "2026-11-16T09:30"]);
    expect(ticks.next(at("2026-11-16T09:15Z"))).toBe(at("2026-11-16T09:30Z"));
  });

  test("the latest ones", () => {
    const span = [at("2026-11-16T09:00Z"), at("2026-11-16T10:00Z")] as const;
    expect(ticks.last(...span, 10)).toHaveLength(4);
    expect(ticks.last(...span, 2)).toEqual([at("2026-11-16T09:45Z"), at("2026-11-16T10:00Z")]);
  });

  test.each([
    [{ every: "1500ms" }, "whole seconds"],
    [{ every: 0 }, "whole seconds"],
    [{ every: "1 hour", timezone: "UTC" }, "belongs to"],
    [{ every: "1 hour", cron: "* * * * *" }, "either"],
    [{}, "either"],
    [{ cron: "* * * * *", timezone: "Mars/Olympus" }, "Mars/Olympus"],
  ])("refuses %j", (given, message) => {
    expect(() => timingOf(given as Parameters<typeof timingOf>[0])).toThrow(message);
  });
});
