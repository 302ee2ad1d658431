/** Nothing of a package is loaded late (docs/decisions/0052), and nothing of another one that is not used. */
import { build } from "esbuild";
import { expect, test } from "vitest";
import { loadedAtOnce } from "../lib/one-chunk.ts";
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
    absWorkingDir: root,
    format: "esm",
    platform: "browser",
    conditions: ["durable-source"],
    logLevel: "error",
  });
  const { outputs } = metafile;
  const entry = Object.keys(outputs).find((path) => outputs[path]?.entryPoint === "<stdin>") ?? "";
  const first = new Set([entry, ...loadedAtOnce(outputs, entry)]);
  const inputs = (paths: readonly string[]): string[] =>
    paths.flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
  return {
    first: inputs([...first]),
    later: inputs(Object.keys(outputs).filter((path) => !first.has(path))),
  };
}

test("a program that imports core loads all of it at once, and nothing of OpenTelemetry", async () => {
  const { first, later } = await loaded('export { durable, createApp, createWorker } from "@durable/core";');
  expect(later).toEqual([]);
  for (const file of ["runs/resume.ts", "runs/tree.ts", "runs/fork.ts", "runs/purge.ts", "engine/undo.ts"])
    expect(first).toContain(`packages/core/src/${file}`);
  expect(first.filter((path) => /packages\/otel|opentelemetry/.test(path))).toEqual([]);
});

test("@durable/otel brings the interface of OpenTelemetry, and no SDK", async () => {
  const { first } = await loaded('export { telemetry } from "@durable/otel";');
  expect(first.some((path) => path.startsWith("packages/otel/src/"))).toBe(true);
  expect(first.filter((path) => /@opentelemetry\/(?!api\/)/.test(path))).toEqual([]);
});

test("a page that imports the client of the handler gets nothing else", async () => {
  const { first, later } = await loaded('export { createClient } from "@durable/http/client";');
  expect(later).toEqual([]);
  const foreign = first.filter((path) => !/^packages\/http\/src\/client(\/|\.ts$)/.test(path));
  expect(foreign).toEqual(["<stdin>"]);
});
