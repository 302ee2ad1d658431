/**
 * Runs in the process of every test file while the map is made, and writes down which code the file has reached. The
 * processes that the file starts write their own report when they end.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import type { Probed, ProbedScript } from "./coverage.ts";

const folder = process.env["MUTANTS_PROBE"];
const root = process.env["MUTANTS_ROOT"];
if (folder === undefined || root === undefined)
  throw new Error("The probe is started by `npm run mutants:map`.");

const testFile = expect.getState().testPath ?? "";
const name = createHash("sha256").update(testFile).digest("hex").slice(0, 16);
const childFolder = join(folder, "children", name);
process.env["NODE_V8_COVERAGE"] = childFolder;

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: false, detailed: true });

afterAll(async () => {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const own = result.filter(({ url }) => url.includes(root) && /\/packages\/[\w-]+\/src\//.test(url));
  // Only now: a debugger slows down what it watches.
  await session.post("Debugger.enable");
  const scripts: ProbedScript[] = [];
  for (const { scriptId, url, functions } of own) {
    const { scriptSource } = await session.post("Debugger.getScriptSource", { scriptId });
    scripts.push({ url, text: keep(scriptSource), functions });
  }
  const probed: Probed = { testFile, cpuMs: cpuMs(), children: childFolder, scripts };
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(probed));
});

/** Most files of a program are reached by many test files: their text is written once. */
function keep(text: string): string {
  const hash = createHash("sha256").update(text).digest("hex");
  const path = join(folder as string, "texts", hash);
  if (!existsSync(path)) {
    mkdirSync(join(folder as string, "texts"), { recursive: true });
    writeFileSync(path, text);
  }
  return hash;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + childCpuMs();
}

/** Of processes that have ended. */
function childCpuMs(): number {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[13]) + Number(fields[14])) * 10;
  } catch {
    return 0;
  }
}
