/** Amounts are rounded once, for page and command line alike. */

import { expect, test } from "vitest";
import { costText, countText, secondsText } from "@durable/core/inspect";
import { duration as printed, money, tokens } from "../../cli/src/text/format.ts";
import { cost, count, duration as shown } from "../../dashboard/page/lib/format.ts";

test("the amounts of one run are the same on the page and in the command line", () => {
  expect([cost(0.0608), money(0.0608)]).toEqual(["$0.0608", "$0.0608"]);
  expect([cost(0.000_012), money(0.000_012)]).toEqual(["$0.000012", "$0.000012"]);
  expect([cost(12.345), money(12.345)]).toEqual(["$12.35", "$12.35"]);
  expect(count(22_841)).toBe("22.8k");
  expect(tokens({ inputTokens: 22_841, outputTokens: 3_471 })).toBe("22.8k/3.5k");
  for (const ms of [1_050, 18_049, 18_051, 18_950, 59_940, 59_960, 60_000, 105_000, 119_999, 3_600_000])
    expect(
      shown(ms)
        .replaceAll(" min", "m")
        .replaceAll(/ (?=[smhd])/g, ""),
      `${ms}`,
    ).toBe(printed(ms).replace(/\.0s$/, "s"));
});

test("figures keep what matters", () => {
  expect([0, 0.5, 0.0402, 0.0009, 2, 1_234.5].map(costText)).toEqual([
    "$0.00",
    "$0.5000",
    "$0.0402",
    "$0.00090",
    "$2.00",
    "$1234.50",
  ]);
  expect([0, 999, 1_000, 999_949, 999_950].map(countText)).toEqual(["0", "999", "1.0k", "999.9k", "1.0M"]);
  expect([0, 950, 59_949, 59_950].map(secondsText)).toEqual(["0.0", "1.0", "59.9", null]);
});
