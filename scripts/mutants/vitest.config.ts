/** The tests of the workspace with a bug in core: `unit.ts` says which one. */
import { fileURLToPath } from "node:url";
import { mergeConfig } from "vitest/config";
import configure from "../../vitest.config.ts";
import { root } from "../lib/workspace.ts";
import { patched } from "./patch.ts";
import { coreFile, given } from "./plant.ts";

const plant = fileURLToPath(new URL("plant.ts", import.meta.url));

// Sweeps run at their whole size. The projects are left out: they would not find the files that have no size.
const { test: { projects: _, ...test } = {}, ...rest } = configure({ mode: "full", command: "serve" });
const base = { ...rest, test };

export default mergeConfig(base, {
  root,
  // What tests import by its path goes through the plugin, what they import by name through Node.
  // A cache of what the plugin made would keep one bug alive in the tests of the next.
  test: { execArgv: ["--import", plant], fsModuleCache: false },
  plugins: [
    {
      name: "mutant",
      enforce: "pre" as const,
      transform: (code: string, id: string) => {
        const file = coreFile(id.split("?", 1)[0] as string);
        return given.some((patch) => patch.file === file) ? patched(file, code, given) : null;
      },
    },
  ],
});
