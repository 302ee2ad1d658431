/** The tests of the workspace with a bug in core: `unit.ts` says which one. */
import { fileURLToPath } from "node:url";
import { mergeConfig } from "vitest/config";
import base from "../../vitest.config.ts";
import { root } from "../lib/workspace.ts";
import { patched } from "./patch.ts";
import { coreFile, given } from "./plant.ts";

const plant = fileURLToPath(new URL("plant.ts", import.meta.url));

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
