import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("./support/unhandled-blocked.ts", import.meta.url));

test("a run whose code leaves a rejection behind is blocked, visibly, and its process lives", async () => {
  const started = Date.now();
  const args = ["--conditions=durable-source", program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { heard, read, listed, kinds, ended, left } = JSON.parse(stdout) as Record<string, unknown>;
  expect(heard).toEqual({
    status: "blocked",
    code: "unhandled-rejection",
    message: expect.stringContaining("Error: lost in the code") as string,
    since: expect.any(Number) as number,
  });
  const { code, message, since } = heard as { code: string; message: string; since: number };
  expect(since).toBeGreaterThanOrEqual(started);
  expect(since).toBeLessThanOrEqual(Date.now());
  expect(read).toEqual(heard);
  expect(listed).toMatchObject([{ runId: "r", status: "blocked", blocked: { code, message, since } }]);
  // The step that was under way was paid for.
  expect(kinds).toEqual(["run.started", "step.completed", "step.completed"]);
  expect(ended).toMatchObject({ status: "completed", output: 2 });
  expect(left).toEqual([]);
});
