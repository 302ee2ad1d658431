import { describe, expect, test } from "vitest";
import { parseCron } from "../../src/schedules/cron.ts";
import { DurableError } from "../../src/index.ts";

const byNumber = (a: number, b: number): number => a - b;

describe("fields", () => {
  test("lists, ranges, steps and names", () => {
    const cron = parseCron("0,30 8-18/5 */10 jan,MAR-may sat-sun");
    expect(cron.minutes).toEqual([0, 30]);
    expect(cron.hours).toEqual([8, 13, 18]);
    expect([...cron.days]).toEqual([1, 11, 21, 31]);
    expect([...cron.months]).toEqual([1, 3, 4, 5]);
    expect([...cron.weekdays].toSorted(byNumber)).toEqual([0, 6]);
  });

  test("7 is Sunday, and a step from a value goes to the end", () => {
    expect([...parseCron("0 0 * * 7").weekdays]).toEqual([0]);
    expect([...parseCron("0 0 * * 5-7").weekdays].toSorted(byNumber)).toEqual([0, 5, 6]);
    expect(parseCron("50/5 * * * *").minutes).toEqual([50, 55]);
    expect([...parseCron("0 0 * * */2").weekdays].toSorted(byNumber)).toEqual([0, 2, 4, 6]);
  });

  test("hours that follow the time that passes", () => {
    expect(["* * * * *", "0 */2 * * *", "0 0-23 * * *"].map((text) => parseCron(text).everyHour)).toEqual([
      true,
      true,
      true,
    ]);
    expect(parseCron("0 0-22 * * *").everyHour).toBe(false);
  });

  test("either day field counts only where both are given", () => {
    expect(parseCron("0 0 13 * 5").eitherDay).toBe(true);
    expect(parseCron("0 0 13 * *").eitherDay).toBe(false);
    expect(parseCron("0 0 */2 * 5").eitherDay).toBe(false);
  });

  test.each(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"])(
    "%s",
    (text) => {
      expect(parseCron(text).minutes).toEqual([0]);
    },
  );
});

describe("refusals", () => {
  test.each([
    ["", "1 fields, not 5"],
    ["* * * *", "4 fields, not 5"],
    ["*/10 * * * * *", "no field for seconds"],
    ["@reboot", "@daily"],
    ["60 * * * *", '"60" as minute'],
    ["* 24 * * *", '"24" as hour'],
    ["* * 0 * *", '"0" as day of month'],
    ["* * * 13 *", '"13" as month'],
    ["* * * * 8", '"8" as day of week'],
    ["* * * foo *", "jan, feb"],
    ["*/90 * * * *", "a step is a number from 1 to 60"],
    ["*/0 * * * *", "a step is a number"],
    ["*/5/5 * * * *", "a step is written once"],
    ["30-10 * * * *", "ends before it begins"],
    ["1-2-3 * * * *", '"1-2-3" as minute'],
    ["* * L * *", "day of month"],
    ["* * ? * *", "day of month"],
    ["-5 * * * *", "minute"],
    ["1, * * * *", "minute"],
    ["1.5 * * * *", "minute"],
    ["0 0 30 2 *", "never happens"],
    ["0 0 31 4,6 *", "never happens"],
  ])("%s", (text, message) => {
    expect(() => parseCron(text)).toThrow(message);
    expect(() => parseCron(text)).toThrow(DurableError);
  });

  test("a value that is not a text, and the field of a wrong one", () => {
    expect(() => parseCron(undefined)).toThrow("is not a text");
    try {
      parseCron("* 99 * * *");
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: "invalid-options", details: { field: "hour" } });
    }
  });
});
