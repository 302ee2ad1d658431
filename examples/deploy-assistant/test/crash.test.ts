import { killDemos } from "example-llm/process";
import { afterEach, expect, inject, test } from "vitest";
import { checkRecords, crowd } from "./support/crowd.ts";

afterEach(killDemos);

const [people, kills] = inject("full") ? [20, 3] : [5, 1];

test(
  `H28 H32 ${people} conversations at once, two processes, killed ${kills} times (seed 1): all end as their replies say`,
  { timeout: 300_000 },
  async () => {
    const report = await crowd({ people, kills, seed: 1 });
    const fifth = people / 5;
    expect(report).toMatchObject({
      kills,
      endings: {
        "deployed 1.0.0": fifth,
        "deployed 1.1.0": 2 * fifth,
        rejected: fifth,
        "rolled-back 2.0.0": fifth,
      },
    });
    // 3.4 mails a conversation; more when a sender died before it could record one.
    expect(report.mails - report.sentAgain).toBe(17 * fifth);
  },
);

test("the check finds a mail without a record, and a record without a mail", () => {
  const [one, two] = [new Set(["<1@x>"]), new Set(["<1@x>", "<2@x>"])];
  expect(() => checkRecords(one, one)).not.toThrow();
  expect(() => checkRecords(two, one)).toThrow("K3: <2@x> was sent");
  expect(() => checkRecords(one, two)).toThrow("K3: <2@x> has a record");
});
