import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

test("durable eval fails a CI run whose threshold is missed, and writes the report", () => {
  const folder = mkdtempSync(join(tmpdir(), "durable-evals-"));
  try {
    const command = [path("../../../packages/cli/src/bin.ts"), "eval", path("../src/ci.ts"), "--no-app"];
    const forms = ["--markdown", "report.md", "--html", "report.html"];
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--conditions=durable-source", "--disable-warning=ExperimentalWarning", ...command, ...forms],
      { cwd: folder, encoding: "utf8", env: { ...process.env, DURABLE_DIR: join(folder, "data") } },
    );
    expect(status, stderr).toBe(1);
    expect(stdout).toContain("MISS policy stated: at most 0 runs get worse (3 do)");
    expect(readFileSync(join(folder, "report.md"), "utf8")).toContain("### 3 got worse");
    expect(readFileSync(join(folder, "report.html"), "utf8")).toContain("3 worse, 31 better, 6 the same.");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 300_000);
