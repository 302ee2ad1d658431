/**
 * Everything that must hold before a change goes in, in one command. All stages run, also after a red one. The last
 * line is "N passed, N failed": tests that passed, and tests or stages that failed.
 *
 * --after-tests <status>  `npm test` ran before, ended with this status, and wrote its report to TEST_REPORT
 * --seconds <n>           time limit for all stages together; none by default
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runStage } from "./lib/run-stage.ts";
import { readReport, type Result, tally } from "./lib/tally.ts";
import { type Stage, stages } from "./stages.ts";

const { values } = parseArgs({
  options: { "after-tests": { type: "string" }, seconds: { type: "string" } },
});
const deadline = values.seconds === undefined ? null : performance.now() + Number(values.seconds) * 1000;

const folder = mkdtempSync(join(tmpdir(), "durable-verify-"));
const results: Result[] = [];
try {
  for (const stage of stages) {
    const startedAt = performance.now();
    const result = await resultOf(stage);
    results.push(result);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`== ${stage.name.padEnd(16)} ${result.ok ? "ok" : "FAILED"} (${seconds} s)\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const { passed, failed, red, failures } = tally(results);
// Again at the end: the output of a test stage is far above.
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(
  red.length === 0
    ? `verify: all ${results.length} stages passed`
    : `verify: ${red.length} of ${results.length} stages failed: ${red.join(", ")}`,
);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function resultOf({ name, seconds, counts = false }: Stage): Promise<Result> {
  const before = values["after-tests"];
  if (name === "test" && before !== undefined)
    return { name, ok: before === "0", tests: readReport(process.env["TEST_REPORT"] ?? "") };
  const report = join(folder, `${name.replace(":", "-")}.json`);
  const ok = await runStage(name, {
    env: counts ? { TEST_REPORT: report } : {},
    seconds: deadline === null ? Infinity : Math.min(seconds, (deadline - performance.now()) / 1000),
  });
  return { name, ok, tests: counts ? readReport(report) : null };
}
