/** Telemetry is loaded only by programs that use it. */

import { build } from "esbuild";
import { expect, test } from "vitest";
import { root } from "../lib/workspace.ts";

/** Which source files are loaded at once, and which at their first use. */
async function loaded(contents: string): Promise<{ readonly first: string[]; readonly later: string[] }> {
  const { metafile } = await build({
    stdin: { contents, resolveDir: `${root}/packages/otel` },
    bundle: true,
    write: false,
    metafile: true,
    splitting: true,
    outdir: root,
    format: "esm",
    platform: "browser",
    conditions: ["durable-source"],
    logLevel: "error",
  });
  const { outputs } = metafile;
  const entry = Object.keys(outputs).find((path) => outputs[path]?.entryPoint === "<stdin>") ?? "";
  const first = new Set([entry]);
  for (const path of first)
    for (const { path: imported, kind } of outputs[path]?.imports ?? [])
      if (kind === "import-statement") first.add(imported);
  const inputs = (paths: readonly string[]): string[] =>
    paths.flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
  return {
    first: inputs([...first]),
    later: inputs(Object.keys(outputs).filter((path) => !first.has(path))),
  };
}

const observer = "packages/core/src/runs/observer.ts";
const ofTelemetry = /observer\.ts$|packages\/otel|opentelemetry/;

test("a workflow without hooks loads nothing of it", async () => {
  const { first, later } = await loaded('export { durable } from "@durable/core";');
  expect(first).toContain("packages/core/src/workflow.ts");
  expect(first.filter((path) => ofTelemetry.test(path))).toEqual([]);
  expect(later).toContain(observer);
});

test("@durable/otel brings the interface of OpenTelemetry, and no SDK", async () => {
  const { first } = await loaded('export { telemetry } from "@durable/otel";');
  expect(first.some((path) => path.startsWith("packages/otel/src/"))).toBe(true);
  expect(first.filter((path) => /@opentelemetry\/(?!api\/)/.test(path))).toEqual([]);
});
