import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Project, workflowsFile } from "./support/lab.ts";

let project: Project;
beforeAll(async () => {
  project = await Project.withRuns();
});
afterAll(() => project.remove());

const pages = ["README.md", "packages/cli/README.md", "docs/guides/operate/command-line.md"];

test("screens in the documentation are what the command prints", async () => {
  let screens = 0;
  for (const page of pages) {
    const text = readFileSync(new URL(`../../../${page}`, import.meta.url), "utf8");
    for (const [, command = "", screen = ""] of text.matchAll(/^```text\n\$ durable (.*)\n([^]*?)^```$/gm)) {
      const args = command.split(" ").map((word) => (word === "workflows.ts" ? workflowsFile : word));
      const { out } = await project.cli(args);
      expect(screen, `${page}: durable ${command}`).toBe(out);
      screens += 1;
    }
  }
  expect(screens).toBeGreaterThanOrEqual(4);
});
