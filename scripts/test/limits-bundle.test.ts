/** A program without limits does not load them. */
import { build, type Metafile } from "esbuild";
import { expect, it } from "vitest";
import { root } from "../lib/workspace.ts";

const parts = /packages\/core\/src\/runs\/(flow|window|text-store|permits)\.ts$/;

async function bundled(contents: string): Promise<{ readonly first: string[]; readonly later: string[] }> {
  const { metafile } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    write: false,
    metafile: true,
    splitting: true,
    outdir: root,
    absWorkingDir: root,
    format: "esm",
    platform: "browser",
    conditions: ["durable-source"],
    logLevel: "error",
  });
  const first = inputsOf(metafile, (kind) => kind === "import-statement");
  const all = inputsOf(metafile, () => true);
  return { first, later: all.filter((path) => !first.includes(path)) };
}

/** The limits in the files that are loaded from the entry on, by these kinds of imports. */
function inputsOf({ outputs }: Metafile, follows: (kind: string) => boolean): string[] {
  const entry = Object.keys(outputs).filter((path) => outputs[path]?.entryPoint === "<stdin>");
  const loaded = new Set(entry);
  for (const path of loaded)
    for (const { path: imported, kind } of outputs[path]?.imports ?? [])
      if (follows(kind)) loaded.add(imported);
  const inputs = [...loaded].flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
  return inputs.filter((path) => parts.test(path)).map((path) => parts.exec(path)?.[1] ?? "");
}

it.each(["durable", "durable, createApp, createWorker"])(
  "import { %s } loads limits at their first use",
  async (names) => {
    const { first, later } = await bundled(`export { ${names} } from "@durable/core";`);
    expect(first).toEqual([]);
    expect(later.toSorted()).toEqual(["flow", "permits", "text-store", "window"]);
  },
);
