import { killDemos } from "example-llm/process";
import { afterEach, expect, test } from "vitest";
import { checkRecords, crowd } from "./support/crowd.ts";

afterEach(killDemos);

test(
  "H28 H32 20 conversations at once, two processes, three of them killed (seed 1): all end as their replies say",
  { timeout: 240_000 },
  async () => {
    const report = await crowd({ people: 20, kills: 3, seed: 1 });
    expect(report).toMatchObject({
      kills: 3,
      endings: { "deployed 1.0.0": 4, "deployed 1.1.0": 8, rejected: 4, "rolled-back 2.0.0": 4 },
    });
    // 3.4 mails a conversation; more when a sender died before it could record one.
    expect(report.mails - report.sentAgain).toBe(68);
  },
);

test("the check finds a mail without a record, and a record without a mail", () => {
  const [one, two] = [new Set(["<1@x>"]), new Set(["<1@x>", "<2@x>"])];
  expect(() => checkRecords(one, one)).not.toThrow();
  expect(() => checkRecords(two, one)).toThrow("K3: <2@x> was sent");
  expect(() => checkRecords(one, two)).toThrow("K3: <2@x> has a record");
});
