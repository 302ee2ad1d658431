import { defineConfig } from "vitest/config";

// "durable-source" runs tests on the TypeScript sources of every workspace package, without a build.
// The rest are Node's own conditions: "module" is missing because vitest hands this list to Node as well.
const conditions = ["durable-source", "node", "development|production"];

// A machine that wants the counts gets them as JSON, in a file it names.
const report = process.env["TEST_REPORT"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["{packages,examples}/*/test/**/*.test.ts", "{runtimes,scripts}/test/**/*.test.ts"],
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    pool: "forks",
    // Crash tests start processes of their own: more workers only make time-outs likelier.
    maxWorkers: 2,
    // For what hangs, not for what is slow: a busy machine takes several times as long as an idle one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
