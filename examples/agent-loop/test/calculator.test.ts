import { describe, expect, test } from "vitest";
import { calculate } from "../src/calculator.ts";

describe("calculate", () => {
  test.each([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["10 - 4 - 3", 3],
    ["100 / 10 / 5", 2],
    ["2 ^ 3 ^ 2", 512],
    ["-2 ^ 2", -4],
    ["2 * -3", -6],
    ["--2", 2],
    [".5 + 1.", 1.5],
    ["0.1 + 0.2", 0.3],
    ["0.8 + (1 + 2 + 3) / 12 * (5.6 - 0.8)", 3.2],
    ["max(1, min(5, 3), 2) + sqrt(16) + abs(-1) + round(2.4)", 10],
  ])("%s = %d", (expression, value) => {
    expect(calculate(expression)).toBe(value);
  });

  test.each([
    ["", "it ends too early"],
    ["1 +", "it ends too early"],
    ["1 2", '"2" is not expected there'],
    ["(1", "it ends too early"],
    ["1)", '")" is not expected there'],
    ["1..2", "is not expected there"],
    [".", '"." is not expected there'],
    ["process", '"process" is not expected there'],
    ["constructor(1)", '"constructor" is not expected there'],
    ["max", "it ends too early"],
    ["1 / 0", "not a finite number"],
    ["1; 2", '";" is not expected there'],
    ["(".repeat(600), "longer than 500 characters"],
  ])("%s is refused", (expression, part) => {
    expect(() => calculate(expression)).toThrow(part);
  });
});
