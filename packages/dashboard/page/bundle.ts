/** Bundles the page from its sources: for the build, and for a package that runs from its sources. */

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** The script and the style of the page, minified. */
export interface Page {
  readonly script: string;
  readonly style: string;
}

const notice = "/*! preact, @preact/signals: MIT, (c) Jason Miller and Preact contributors */";

let bundled: Promise<Page> | undefined;

/** Bundled once per process. */
export function page(): Promise<Page> {
  bundled ??= bundle();
  return bundled;
}

/** `sources` also bundles core from its sources; otherwise core must be built. */
export async function bundle({ sources = true }: { readonly sources?: boolean } = {}): Promise<Page> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("main.tsx", import.meta.url))],
    outdir: "out",
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2023"],
    platform: "browser",
    jsx: "automatic",
    jsxImportSource: "preact",
    conditions: sources ? ["durable-source"] : [],
    legalComments: "none",
    banner: { js: notice },
    logLevel: "error",
  });
  const textOf = (ending: string): string =>
    outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? "";
  return { script: textOf(".js"), style: textOf(".css") };
}
