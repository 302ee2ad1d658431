/** The tests of the workspace, each file in a process of its own that notes which code it reaches. */
import { fileURLToPath } from "node:url";
import configure from "../../../vitest.config.ts";
import { root } from "../../lib/workspace.ts";

const probe = fileURLToPath(new URL("probe.ts", import.meta.url));
const { test: { projects = [], ...test } = {}, ...rest } = configure({ mode: "test", command: "serve" });

const probed = projects.map((project) => {
  if (typeof project !== "object" || !("test" in project)) return project;
  return { ...project, test: { ...project.test, isolate: true, setupFiles: [probe] } };
});

export default { ...rest, root, test: { ...test, projects: probed, fsModuleCache: false } };
