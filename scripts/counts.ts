/** Counts the work of fixed workloads, and compares it with scripts/counts.baseline.json; `--write` accepts what was counted. */
import { baselineFile, compareCounts, countWork, readBaseline, writeBaseline } from "./lib/counts/counts.ts";

const counts = await countWork();
for (const [workload, counted] of Object.entries(counts)) {
  const shown = Object.entries(counted).filter(([, count]) => count !== 0);
  console.log(
    `${workload}: ${shown.map(([name, count]) => `${name} ${count.toLocaleString("en")}`).join(", ")}`,
  );
}
if (process.argv.includes("--write")) {
  writeBaseline(counts);
  console.log(`counts: ${baselineFile} written`);
} else {
  const problems = compareCounts(readBaseline(), counts);
  for (const problem of problems) console.error(problem);
  console.log(
    problems.length === 0 ? "counts: nothing over its baseline" : `counts: ${problems.length} problems`,
  );
  process.exitCode = problems.length === 0 ? 0 : 1;
}
