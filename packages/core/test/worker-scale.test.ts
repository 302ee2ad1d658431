import { expect, it } from "vitest";
import { answerSome } from "./support/worker-waiting.ts";

it("H69 10,000 runs wait: a worker holds none of them, and finishes the 1,000 that are answered", async () => {
  const [runs, answers] = [10_000, 1_000];
  const report = await answerSome({ runs, answers });
  const { before, waiting, after } = report.megabytes;
  console.log(
    `waiting: ${runs} runs, worker ${before} MB, looking ${waiting} MB, after ${answers} answers ${after} MB`,
  );
  expect(report.statuses).toEqual({ completed: answers, suspended: runs - answers });
  expect(report.finished).toEqual(report.answered);
  expect(report.drives, "no other was touched, none driven twice").toBe(answers);
  expect(waiting - before).toBeLessThan(100);
  expect(report.complaints).toEqual([]);
}, 120_000);
