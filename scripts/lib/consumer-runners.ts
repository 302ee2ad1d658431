/**
 * The packed test kit under the test runners that users have, with and without source maps: a crash test must find the same
 * under each of them.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture } from "./workspace.ts";

/** Not a dependency of the workspace: only this check uses it. */
export const jestVersion = "30.5.2";

/** Workflows with mistakes; each line of a finding is that of this file. */
const bugs = `import { durable } from "@durable/core";
import { crashEverywhere, recorder } from "@durable/testing";

const mail = recorder();
let passes = 0;
const flows = {
  reads: durable("reads", async (ctx) => {
    if (Math.random() > 2 || Date.now() < 0 || new Date().getTime() < 0) return 0;
    return ctx.step(crypto.randomUUID() === "" ? "a" : "b", () => Date.now() > 0);
  }),
  order: durable("order", async (ctx) => {
    passes += 1;
    await ctx.step(passes % 2 === 0 ? "even" : "odd", () => 1);
  }),
  memory: durable("memory", async (ctx) => {
    let seen = 0;
    await ctx.step("count", () => void (seen += 1));
    await ctx.sleep("1h");
    return ctx.step("sum", () => seen);
  }),
  outside: durable("outside", async (ctx) => {
    mail.record("send", { payload: "ada" });
    await ctx.step("a", () => 1);
  }),
  clean: durable("clean", async (ctx) => ctx.step("a", () => Date.now() > 0)),
};

export async function findings() {
  const found = {};
  for (const [name, flow] of Object.entries(flows)) {
    const reset = () => (passes = 0);
    const report = await crashEverywhere(flow, { effects: mail, reset, throws: false, within: "1h" });
    const { ok, calm, ambient, outside, totals } = report;
    const problems = calm.problems.map(({ check, text }) => check + ": " + text);
    found[name] = { ok, problems, ambient, outside, wrong: totals.wrong, cases: totals.cases };
  }
  return JSON.stringify(found, null, 1);
}
`;

const test = (from: string): string => `${from}
import { writeFileSync } from "node:fs";
import { findings } from "./bugs.mjs";
test("findings", async () => writeFileSync(process.env.FOUND, await findings()), TIMEOUT);
`;

const files: Readonly<Record<string, string>> = {
  "bugs.mjs": bugs,
  "vitest.test.mjs": test('import { test } from "vitest";').replace("TIMEOUT", "300_000"),
  "node.check.mjs": test('import { test } from "node:test";').replace(", TIMEOUT", ""),
  "jest.check.mjs": test("").replace("TIMEOUT", "300_000"),
  "jest.config.json": JSON.stringify({ testMatch: ["**/jest.check.mjs"], transform: {} }),
  "vitest.config.mjs": 'export default { test: { include: ["vitest.test.mjs"] } };',
};

const runners: Readonly<Record<string, readonly string[]>> = {
  vitest: ["node_modules/vitest/vitest.mjs", "run"],
  "node:test": ["--test", "node.check.mjs"],
  "Jest, ESM": ["--experimental-vm-modules", "node_modules/jest/bin/jest.js", "--config", "jest.config.json"],
};

/** A row for each runner and setting, and what differs from the first one. */
export function tryRunners(home: string, node: string): { rows: string[][]; reports: string[] } {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
  mkdirSync(join(home, "found"), { recursive: true });
  const reports: string[] = [];
  let first: string | null = null;
  const rows = Object.entries(runners).flatMap(([runner, args]) =>
    [[], ["--enable-source-maps"]].map((flags) => {
      const out = join(home, "found", `${runner.replaceAll(/\W/g, "-")}${flags.length}.json`);
      const env = { FOUND: out, NODE_OPTIONS: flags.join(" ") };
      const { ok, said } = capture(node, [...args], { cwd: home, env });
      const found = ok ? readFileSync(out, "utf8") : said;
      first ??= found;
      const isSame = ok && found === first;
      if (!isSame) reports.push(`${runner} ${flags.join(" ")} finds:\n${found}\ninstead of:\n${first}`);
      return [runner, flags.length === 0 ? "no" : "yes", isSame ? "the same" : "FAILED"];
    }),
  );
  const wrong = ["reads", "order", "memory", "outside"];
  const { clean, ...others } = JSON.parse(first ?? "{}") as Record<string, { readonly ok: boolean }>;
  if (clean?.ok !== true || wrong.some((name) => others[name]?.ok !== false))
    reports.push(`The first runner did not find every mistake: ${first}`);
  return { rows, reports };
}
