/** What a program does not use is loaded at its first use, or never (docs/decisions/0040). */
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
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

/** The files of each part in the folder of core's sources. */
const parts: Readonly<Record<string, readonly string[]>> = {
  limits: ["runs/flow.ts", "runs/permits.ts", "runs/text-store.ts", "runs/window.ts"],
  schedules: ["schedules/manage.ts", "schedules/fire.ts", "schedules/ticks.ts"],
  retention: ["runs/purge.ts", "purge-work.ts"],
  telemetry: ["runs/observer.ts"],
  messages: ["runs/send.ts"],
  "clean-up": ["engine/undo.ts", "runs/cancel.ts"],
  "spawned runs": ["runs/spawn.ts"],
  steering: ["runs/steer.ts"],
  forks: ["runs/fork.ts", "journal/ancestors.ts"],
};

describe("a program that imports everything of core, and uses none of it,", async () => {
  const { first, later } = await loaded('export { durable, createApp, createWorker } from "@durable/core";');

  test.for(Object.entries(parts))("loads %s at its first use", ([, files]) => {
    const paths = files.map((file) => `packages/core/src/${file}`);
    expect(first.filter((path) => paths.includes(path))).toEqual([]);
    expect(later.filter((path) => paths.includes(path)).toSorted()).toEqual(paths.toSorted());
  });

  test("loads the kernel at once, and nothing of OpenTelemetry", () => {
    expect(first).toContain("packages/core/src/workflow.ts");
    expect([...first, ...later].filter((path) => /packages\/otel|opentelemetry/.test(path))).toEqual([]);
  });
});

test("@durable/otel brings the interface of OpenTelemetry, and no SDK", async () => {
  const { first } = await loaded('export { telemetry } from "@durable/otel";');
  expect(first.some((path) => path.startsWith("packages/otel/src/"))).toBe(true);
  expect(first.filter((path) => /@opentelemetry\/(?!api\/)/.test(path))).toEqual([]);
});
