import { expect, inject, it } from "vitest";
import { answerSome } from "./support/worker-waiting.ts";

const [runs, answers] = inject("full") ? [10_000, 1_000] : [600, 60];

it(`H69 ${runs} runs wait: a worker holds none of them, and finishes the ${answers} that are answered`, async () => {
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
}, 300_000);
