/** `durable eval`: the exit code by thresholds, and files of the report. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Project } from "./support/lab.ts";

const forms = "text: () => 'the table', markdown: () => '# the report', html: () => '<p>the report'";

test.each([
  ["a report that passed", `() => ({ name: "e", passed: true, ${forms} })`, 0],
  ["a report with a missed threshold", `async () => ({ name: "e", passed: false, ${forms} })`, 1],
  ["no report", "() => ({ passed: true })", 2],
  ["no function", "7", 2],
  ["an error", "() => { throw new Error('no such model') }", 1],
])("%s has its exit code", async (what, made, code) => {
  const project = new Project();
  onTestFinished(() => project.remove());
  writeFileSync(join(project.folder, "tone.mjs"), `export default ${made};\n`);
  const said = await project.cli(["eval", "tone.mjs", "--markdown", "r.md", "--html", "r.html"]);
  expect(said.code, said.err).toBe(code);
  if (what === "an error") expect(said.err).toContain("no such model");
  if (code === 2) expect(said.err).toContain("gives no report. Write: export default");
  if (!what.startsWith("a report")) return;
  expect(said.out).toContain("the table");
  expect(readFileSync(join(project.folder, "r.md"), "utf8")).toBe("# the report");
  expect(readFileSync(join(project.folder, "r.html"), "utf8")).toBe("<p>the report");
  expect((await project.cli(["eval", "none.mjs"])).code).toBe(3);
});
