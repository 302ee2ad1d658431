import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** True under `npm run test:full`: sweeps run at their whole size, and not as a sample. */
    full: boolean;
    /** The address of a Postgres that all test files share; a file that asks for it gets one. */
    postgres: string;
  }
}

// "durable-source" runs tests on the TypeScript sources of every workspace package, without a build.
// The rest are Node's own conditions: "module" is missing because vitest hands this list to Node as well.
const conditions = ["durable-source", "node", "development|production"];

// A machine that wants the counts gets them as JSON, in a file it names.
const report = process.env["TEST_REPORT"];

const root = fileURLToPath(new URL(".", import.meta.url));
const places = ["{packages,examples}/*/test/**/*.test.ts", "{runtimes,scripts}/test/**/*.test.ts"];

// Starting a process for a test file costs about as much as an average file does, so most files share two processes.
// These signs in its text give a file a process of its own.
const needsProcess = [
  // It changes globals, the environment, or modules that others import.
  /\bvi\.(?:doMock|mock|resetModules|spyOn|stub\w+|useFakeTimers)\(/,
  /\bprocess\.(?:chdir|on|once)\(|\bprocess\.env\[.*\] = |\.prototype, "|\bforgetSecrets\b/,
  /\bmakeSmall\(/,
  // It watches chance, clocks or the memory of the whole process.
  /\b(?:crashEverywhere|explore|simulate|memoryUsage)\(|\/sim-/,
  // It leaves clients of a server behind.
  /\b(?:bucketConformance|fuzzRun)\(/,
];

const tests = globSync(places, { cwd: root }).map((path) => {
  const text = readFileSync(`${root}${path}`, "utf8");
  return {
    path: path.replaceAll("\\", "/"),
    onlyFull: path.endsWith(".full.test.ts"),
    hasSize: text.includes('inject("full")'),
    alone: needsProcess.some((sign) => sign.test(text)),
    postgres: text.includes('inject("postgres")'),
  };
});

// These take longest, and begin first, so that no process works alone at the end.
const long = [
  "pairs.full",
  "chat/test/page",
  "pooler",
  "page-postgres",
  "postgres/test/programs",
  "postgres/test/features",
  "sim-seeds",
  "sim-fleet",
  "format-2-runs",
  "fleet.full",
  "hostile",
  "faults",
  "sim.test",
  "cloudflare-queue",
  "cloudflare-worker",
  "s3/test",
  "r2.test",
  "dashboard/test/page",
  "blobs",
  "crash",
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = long.findIndex((part) => moduleId.includes(part));
      return found === -1 ? long.length : found;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of the sequencer
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig(({ mode }) => {
  const full = mode === "full";
  const chosen = tests.filter(({ onlyFull, hasSize }) => (full ? onlyFull || hasSize : !onlyFull));
  const project = (name: string, isolate: boolean, takes: (test: (typeof tests)[number]) => boolean) => ({
    test: { name, isolate, include: chosen.filter(takes).map(({ path }) => path) },
  });
  return {
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      provide: { full },
      // Processes that tests start find the sources compiled.
      env: {
        NODE_COMPILE_CACHE: `${root}node_modules/.cache/node-compile`,
        // A slow machine must not try fewer cases than a fast one.
        DURABLE_TEST_WITHIN: "1h",
      },
      projects: [
        project("alone", true, ({ alone, postgres }) => alone && !postgres),
        project("shared", false, ({ alone, postgres }) => !alone && !postgres),
        {
          test: {
            ...project("postgres", true, ({ postgres }) => postgres).test,
            globalSetup: "packages/postgres/test/support/global.ts",
          },
        },
      ],
      reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
      pool: "forks",
      sequence: { sequencer: LongFirst },
      // Crash tests start processes of their own, and wait for them: three workers keep two cores busy.
      maxWorkers: 3,
      // For what hangs, not for what is slow: a busy machine takes several times as long as an idle one.
      testTimeout: 300_000,
      hookTimeout: 300_000,
    },
  };
});
