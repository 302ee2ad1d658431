/** A cron expression that is refused: the message quotes all of it, and the details name the field that is wrong. */

import { DurableError } from "@durable/core";
import { expect, test } from "vitest";
import { parseCron } from "../../src/schedules/cron.ts";

const right = ["0", "9", "1", "2", "3"];
const wrong = ["x", "99", "5-2", "*/0", "1,,2", "*/90"];

test.each(right.flatMap((_, n) => wrong.map((part) => right.with(n, part).join(" "))))("%s", (text) => {
  const refusal = (): unknown => {
    try {
      return parseCron(text);
    } catch (error) {
      return error;
    }
  };
  const error = refusal() as DurableError;
  expect(error).toBeInstanceOf(DurableError);
  expect(error.message).toContain(`The cron expression "${text}" `);
  expect(error.details["field"]).toEqual(expect.any(String));
});
