import { defineConfig } from "vitest/config";

// "source" lets tests run on the TypeScript sources of every workspace package, without a build.
// The rest are vite's own defaults for Node, which setting this list would otherwise drop.
const conditions = ["source", "module", "node", "development|production"];

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
