import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("./support/strict-rejections.ts", import.meta.url));

test("H42 under --unhandled-rejections=strict: errors reach the workflow, running bodies are recorded, the process lives", async () => {
  const args = ["--unhandled-rejections=strict", "--conditions=durable-source", program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  const said = JSON.parse(stdout) as { output: unknown; bodies: string[]; kinds: string[] };
  expect(said.output).toEqual({
    caught: ["step-failed", "step-failed", "step-failed"],
    left: 3,
    settled: ["rejected", "fulfilled"],
  });
  expect(said.bodies.toSorted()).toEqual(["all", "beside", "race", "settled"]);
  for (const body of ["parallel[slow]/all", "beside", "settled[slow]/settled"])
    expect(said.kinds).toContain(`step.completed ${body}`);
  expect(said.kinds.filter((kind) => kind.startsWith("step.failed")).length).toBe(9);
  expect(said.kinds.at(-1)).toBe("run.completed");
  // Failures that nothing looked at are named, once.
  expect(stderr).toBe(
    "durable: run r ended, but its code never looked at the failure of: bad, left, lone. Await these calls, or catch their errors.\n",
  );
});
