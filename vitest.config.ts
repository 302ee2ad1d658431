import { existsSync, globSync, readFileSync } from "node:fs";
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
const places = ["{packages,examples}/*/test/**/*.test.ts", "{runtimes,scripts,site}/test/**/*.test.ts"];

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

// It drives a browser, a large program that is not ours: on a busy machine a key or a click of it can come too early.
// Such a test is tried once more before it counts as failed, and the output says so.
const inBrowser = /support\/(?:chromium|opened|pages?|page-suite|player|plays|site|visitor)\.ts"/;

/** The folders of the workspace that an install of some of its packages has left out. */
const missing = globSync("{packages/*,examples/*,runtimes}/package.json", { cwd: root })
  .filter((file) => {
    const { name } = JSON.parse(readFileSync(`${root}${file}`, "utf8")) as { name: string };
    return !existsSync(`${root}node_modules/${name}`);
  })
  .map((file) => file.replaceAll("\\", "/").replace(/package\.json$/, ""));
if (missing.length > 0)
  console.log(`left out, not installed: the tests in ${[...missing, "scripts/", "site/"].join(", ")}`);

const isThere = (path: string): boolean =>
  missing.length === 0 ||
  (/^(?:packages|examples|runtimes)\//.test(path) && !missing.some((folder) => path.startsWith(folder)));

const found = globSync(places, { cwd: root }).map((path) => path.replaceAll("\\", "/"));
const tests = found.filter(isThere).map((path) => {
  const text = readFileSync(`${root}${path}`, "utf8");
  return {
    path,
    onlyFull: path.endsWith(".full.test.ts"),
    hasSize: text.includes('inject("full")'),
    alone: needsProcess.some((sign) => sign.test(text)),
    browser: inBrowser.test(text),
    postgres: text.includes('inject("postgres")'),
  };
});

// These take longest, and begin first, so that no process works alone at the end.
const long = [
  "site.full",
  "pairs.full",
  "chat/test/page",
  "pooler",
  "page-postgres",
  "postgres/test/programs",
  "acting.full",
  "evals/test/effects",
  "postgres/test/features",
  "sim-seeds",
  "sim-fleet",
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
    test: {
      name,
      isolate,
      include: chosen.filter(takes).map(({ path }) => path),
      retry: name.startsWith("browser") ? 1 : 0,
    },
  });
  const onServer = (name: string, takes: (test: (typeof tests)[number]) => boolean) => ({
    test: {
      ...project(name, true, (test) => test.postgres && takes(test)).test,
      globalSetup: "packages/postgres/test/support/global.ts",
    },
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
        project("alone", true, ({ alone, postgres, browser }) => alone && !postgres && !browser),
        project("shared", false, ({ alone, postgres, browser }) => !alone && !postgres && !browser),
        project("browser", false, ({ postgres, browser }) => browser && !postgres),
        onServer("postgres", ({ browser }) => !browser),
        onServer("browser on postgres", ({ browser }) => browser),
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
