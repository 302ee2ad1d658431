import { mkdtempSync, rmSync } from "node:fs";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, expect, inject, test } from "vitest";
import { runSuite, type Report } from "../src/sandbox.ts";
import { solution } from "../src/script.ts";
import { cases } from "../src/suite/cases.ts";

const folders: string[] = [];
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), "coding-agent-"));
  folders.push(made);
  return made;
};
afterEach(() => {
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true, maxRetries: 5 });
});

const { signal } = new AbortController();
const run = (code: string, options = {}): Promise<Report> => runSuite(code, folder(), { signal, ...options });
const total = cases.length;

// Each is a process: one that passes, one that fails and those that are stopped here, all in `npm run test:full`.
const full = inject("full");
const solutions: readonly (readonly [string, number, Report["stopped"], string | undefined])[] = [
  ["clamp", total, null, undefined],
  ["mark", total - 1, null, "a range backwards"],
  ["sort", total - 4, null, "order by number"],
  ["scan", total - 4, "time", "commas to spare"],
  ["expand", total - 1, "memory", "a range far beyond the last page"],
];

test.each(solutions.filter(([name]) => full || name !== "mark"))(
  "%s passes %i tests, and is stopped by %s",
  async (name, passed, stopped, failed) => {
    // Its endless loop takes as much time as it may.
    const limits = { cpuMs: full ? 1_000 : 300, memoryMb: 192 };
    const report = await run(solution(name), name === "scan" ? { limits } : {});
    expect(report).toMatchObject({ passed, total, stopped });
    expect((stopped === null ? report.failures[0] : report.failures.at(-1))?.name).toBe(failed);
  },
);

test("memory outside the heap counts, too", async () => {
  const code =
    "const held = [];\nexport const pages = () => { for (;;) held.push(new Uint8Array(1e6).fill(1)); };\n";
  expect(await run(code)).toMatchObject({ passed: 0, stopped: "memory" });
});

test.each([
  ["an invalid module", "export function pages( {", /^SyntaxError/],
  ["what ends the process", "process.exit(0);", /^the code ended the process/],
  ["what throws at once", 'throw new Error("no");', /^Error: no/],
])("%s passes nothing", async (_, code, what) => {
  const { passed, stopped, failures } = await run(code);
  expect({ passed, stopped }).toEqual({ passed: 0, stopped: "error" });
  expect(failures[0]?.what).toMatch(what);
});

test("a candidate finds no environment, reads no files of others, and writes and starts nothing", async () => {
  const code = `
import { readFileSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
const tried = (work) => { try { work(); return "could"; } catch (error) { return error.code; } };
const told = [
  Object.keys(process.env).length,
  tried(() => readFileSync(${JSON.stringify(fileURLToPath(import.meta.url))})),
  tried(() => writeFileSync("here.txt", "x")),
  tried(() => spawnSync("true")),
];
export const pages = () => told;
`;
  const { failures } = await run(code);
  expect(failures[0]?.what).toBe(
    'gave [0,"ERR_ACCESS_DENIED","ERR_ACCESS_DENIED","ERR_ACCESS_DENIED"], not [5]',
  );
});

test("S3 when its parent is killed, an endless loop ends", { timeout: 300_000 }, async () => {
  const where = folder();
  const sandbox = fileURLToPath(new URL("../src/sandbox.ts", import.meta.url));
  // A clock of its own would end it after minutes only.
  const program = `
import { runSuite } from ${JSON.stringify(sandbox)};
const limits = { cpuMs: 120_000, memoryMb: 256 };
await runSuite("for (;;);", ${JSON.stringify(where)}, { signal: new AbortController().signal, limits });
`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "ignore" });
  const children = async (): Promise<string> => {
    const listed = spawn("ps", ["-A", "-o", "args="], { stdio: ["ignore", "pipe", "ignore"] });
    let text = "";
    for await (const part of listed.stdout.setEncoding("utf8")) text += part;
    return text.split("\n").find((line) => line.includes(where) && line.includes("--permission")) ?? "";
  };
  while ((await children()) === "") await delay(50);
  parent.kill("SIGKILL");
  while ((await children()) !== "") await delay(50);
  expect(parent.killed).toBe(true);
});
