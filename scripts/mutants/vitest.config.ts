/** The tests of the workspace with a bug in core: `unit.ts` says which one. */
import { relative, sep } from "node:path";
import { mergeConfig } from "vitest/config";
import base from "../../vitest.config.ts";
import { root } from "../lib/workspace.ts";
import { coreSources, patched, type Patch } from "./patch.ts";

const patches = JSON.parse(process.env["MUTANT_PATCHES"] ?? "[]") as Patch[];

export default mergeConfig(base, {
  root,
  plugins: [
    {
      name: "mutant",
      enforce: "pre" as const,
      transform: (code: string, id: string) => {
        const file = relative(coreSources, id.split("?", 1)[0] as string)
          .split(sep)
          .join("/");
        return patches.some((patch) => patch.file === file) ? patched(file, code, patches) : null;
      },
    },
  ],
});
