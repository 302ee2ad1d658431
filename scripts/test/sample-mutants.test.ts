/** Sampled mutants, on small programs: which changes are drawn, what counts, and what the figures say. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { root } from "../lib/workspace.ts";
import { areaOf, areas, filesOf } from "../mutants/sample/areas.ts";
import { reachedLines, wordsOf } from "../mutants/sample/coverage.ts";
import { outdatedEntries, readEquivalents } from "../mutants/sample/equivalent.ts";
import { hashOf, hasLine, rangesOf, TestMap } from "../mutants/sample/map.ts";
import { batchesOf, nearestFirst } from "../mutants/sample/nearest.ts";
import { predicatesIn } from "../mutants/sample/operators-sql.ts";
import { runNode } from "../mutants/sample/processes.ts";
import { Progress } from "../mutants/sample/progress.ts";
import { Results, type Result } from "../mutants/sample/results.ts";
import { Sample } from "../mutants/sample/sample.ts";
import { draw, seedOf } from "../mutants/sample/sampling.ts";
import { tableOf, wilson } from "../mutants/sample/score.ts";
import { Scratch } from "../mutants/sample/scratch.ts";
import { isOtherProgram, mutated, sitesOf, type Mutant } from "../mutants/sample/sites.ts";

const folder = mkdtempSync(join(tmpdir(), "sample-mutants-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function mutantsOf(text: string): Mutant[] {
  return sitesOf("packages/core/src/a.ts", text)
    .flat()
    .filter((mutant) => isOtherProgram(mutant, text));
}

/** `operator: the program after it`. */
function changes(text: string): string[] {
  return mutantsOf(text).map((mutant) => `${mutant.operator}: ${mutated(mutant, text).trim()}`);
}

describe("operators", () => {
  test.each([
    [
      "if (a) return;",
      [
        "leave out a guard: f = () => { ;  g(); }",
        "negate a condition: f = () => { if (!(a)) return;  g(); }",
      ],
    ],
    [
      "if (!a) { b = c; return c; }",
      [
        "leave out a guard: f = () => { ;  g(); }",
        "negate a condition: f = () => { if (a) { b = c; return c; }  g(); }",
        "leave out an early return: f = () => { if (!a) { b = c; c; }  g(); }",
      ],
    ],
  ])("of a guard: %s", (statement, expected) => {
    const found = changes(`f = () => { ${statement}  g(); }`);
    expect(found).toEqual(expect.arrayContaining(expected));
  });

  test.each([
    ["x = a && b;", ["drop an operand of &&: x = (a);", "drop an operand of &&: x = (b);"]],
    [
      "x = a ?? 'b';",
      [
        "drop an operand of ??: x = (a);",
        "drop an operand of ??: x = ('b');",
        'change a default: x = a ?? "";',
      ],
    ],
    ["x = a < b;", ["<= for <: x = a <= b;"]],
    ["x = a === b;", ["!== for ===: x = a !== b;"]],
    [
      "x = Math.min(a, 2);",
      ["Math.max for Math.min: x = Math.max(a, 2);", "change a constant: x = Math.min(a, 3);"],
    ],
    ["x = await a;", ["leave out await: x = a;"]],
    ["x = 60_000;", ["change a constant: x = 6000;"]],
    ["x = true;", ["change a constant: x = false;"]],
    ["await a.b();", ["leave out a call: ;", "leave out await: a.b();"]],
    [
      "x = f(a, b.c, 'd');",
      ["use the argument beside it: x = f(b.c, b.c, 'd');", "use the argument beside it: x = f(a, a, 'd');"],
    ],
  ])("of %s", (text, expected) => {
    expect(changes(text)).toEqual(expected);
  });

  test("swap statements that do not need each other", () => {
    const swapped = (text: string): string[] => changes(text).filter((one) => one.startsWith("swap"));
    expect(swapped("await a(); b.c = 1;")).toEqual(["swap two statements: b.c = 1; await a();"]);
    expect(swapped("const x = a(); b(x);")).toEqual([]);
    expect(swapped("a.b = c; a.d = e;")).toEqual([]);
    expect(swapped("const { x, ...y } = a(); b(y);")).toEqual([]);
    expect(swapped("const x = 1; const y = 2;")).toEqual([]);
  });

  test("leave types, comments, imports and texts for people alone", () => {
    const text = [
      'import { a } from "b"; // a && b',
      "type T = 1 | 2; interface U { readonly a: true }",
      'throw new DurableError("code", `${a > 1 ? "many" : "one"} of ${b && c}`);',
      "console.warn(`${a ?? b}`)",
      "export const x = y as unknown as Record<1, true>;",
    ].join("\n");
    expect(changes(text).filter((one) => !one.startsWith("leave out a call"))).toEqual([]);
  });

  test("what a compiler makes the same of is not a mutant", () => {
    expect(changes("if (false && a) b();").some((one) => one.startsWith("leave out a call"))).toBe(false);
  });
});

test("conditions of SQL are opened, and nothing else is", () => {
  const sql = `SELECT id FROM runs r JOIN names n ON n.id = r.id WHERE r.a = $1 AND r.b BETWEEN 1 AND 2
    AND (r.c OR r.d = 'x AND y') AND r.e = CASE WHEN f THEN 1 ELSE 2 END ORDER BY id -- AND nothing`;
  const found = predicatesIn(`\`${sql}\``).map(([from, to]) => `\`${sql}\``.slice(from, to));
  expect(found).toEqual([
    "n.id = r.id",
    "r.a = $1",
    "r.b BETWEEN 1 AND 2",
    "(r.c OR r.d = 'x AND y')",
    "r.e = CASE WHEN f THEN 1 ELSE 2 END",
    "f",
  ]);
  expect(predicatesIn("`DROP TABLE IF EXISTS a; INSERT INTO b ON CONFLICT (c) DO NOTHING`")).toEqual([]);
  const ended = "`DELETE FROM a WHERE b = ${c(d)}; RETURN FOUND;`";
  expect(predicatesIn(ended).map(([from, to]) => ended.slice(from, to))).toEqual(["b = ${c(d)}"]);
  expect(changes(`x = "there is a time WHEN a AND b";`)).toEqual([]);
});

describe("the id of a mutant", () => {
  const program = "export function one() { if (a) return; g(); }\nfunction two() { if (a) return; g(); }\n";
  const ids = (text: string): string[] => mutantsOf(text).map(({ id }) => id);

  test("does not depend on other lines", () => {
    expect(ids(`const b = c;\n\n${program}`)).toEqual(expect.arrayContaining(ids(program)));
  });

  test("differs by function, and by number where a text is there twice", () => {
    const twice = "f = () => { if (a) g(); if (a) g(); }";
    for (const text of [program, twice]) expect(new Set(ids(text)).size).toBe(ids(text).length);
  });
});

describe("a draw", () => {
  const files: [string, string][] = [
    ["packages/core/src/a.ts", "if (a && b) c(d, e); x = 7;"],
    ["packages/core/src/b.ts", "await f(); y = g ?? 'h'; z = y < 3;"],
  ];
  const drawn = (seed: number, area = "runs"): string[] =>
    Array.from(draw(new Map(files), area, seed), ({ mutant }) => mutant.id);

  test("is the same for the same seed, and another for another seed or area", () => {
    expect(drawn(7)).toEqual(drawn(7));
    expect(drawn(8)).not.toEqual(drawn(7));
    expect(drawn(7, "engine")).not.toEqual(drawn(7));
  });

  test("comes to every place once", () => {
    const sites = files.flatMap(([file, text]) => sitesOf(file, text));
    expect(new Set(drawn(7)).size).toBe(sites.length);
  });

  test("takes its seed from a commit", () => {
    expect(seedOf("0000002aff")).toBe(42);
  });
});

test("every source file is in one area, but for those of the test kit", () => {
  const all = areas.flatMap((area) => filesOf(root, area));
  expect(new Set(all).size).toBe(all.length);
  expect(areas.filter((area) => filesOf(root, area).length === 0)).toEqual([]);
  expect(areaOf("packages/testing/src/index.ts")).toBeNull();
  expect(areaOf("packages/core/src/runs/fork.ts")).toBe("forks");
  expect(areaOf("packages/core/src/worker/worker.ts")).toBe("runs");
});

describe("equivalent mutants", () => {
  const effort = { budgetMs: 1, seeds: 0 };
  const text = "x = a < b;";
  const file = "packages/core/src/a.ts";
  const [mutant] = mutantsOf(text) as [Mutant];
  const entry = { id: mutant.id, file, change: "<= for <", reason: "They are never equal." };
  const result: Result = {
    commit: "c",
    seed: 1,
    area: "runs",
    diff: "",
    operator: "",
    by: null,
    id: mutant.id,
    noticed: false,
    tests: [],
    reaching: 1,
    budgetMs: 1,
    cpuMs: 1,
  };

  test.each([
    ["leave the denominator", [entry], { noticed: 0, judged: 0, equivalent: 1 }],
    ["are survivors as long as nobody has judged them", [], { noticed: 0, judged: 1, equivalent: 0 }],
  ])("%s", async (_, entries, expected) => {
    const results = new Results(join(folder, "none.jsonl"));
    results.add(result);
    const equivalents = new Map(entries.map((one) => [one.id, one]));
    const given = { root, commit: "c", seed: 1, fresh: false, progress: new Progress(), effort };
    const sample = new Sample({ ...given, equivalents, results });
    sample.drawFrom("runs", new Map([[file, text]]), 1);
    await sample.judge(new TestMap(root, join(folder, "no-map")), 1);
    expect(sample.scores).toEqual(new Map([["runs", expected]]));
  });

  test("are reported when their place is gone", () => {
    const equivalents = new Map([[entry.id, entry]]);
    expect(outdatedEntries(equivalents, new Set([file]), mutantsOf(text))).toEqual([]);
    expect(outdatedEntries(equivalents, new Set([file]), mutantsOf("x = a > b;"))).toEqual([entry]);
    expect(outdatedEntries(equivalents, new Set(), [])).toEqual([]);
  });

  test("have reasons, and name files that exist", () => {
    const known = new Set(areas.flatMap((area) => filesOf(root, area)));
    expect([...readEquivalents().values()].filter((one) => !known.has(one.file))).toEqual([]);
    const path = join(folder, "equivalent.json");
    writeFileSync(path, JSON.stringify([{ ...entry, reason: " " }]));
    expect(() => readEquivalents(path)).toThrow("has no reason");
  });
});

test("the interval is Wilson's", () => {
  const rounded = (noticed: number, judged: number): string[] =>
    wilson({ noticed, judged }).map((bound) => bound.toFixed(3));
  expect(rounded(8, 10)).toEqual(["0.490", "0.943"]);
  expect(rounded(20, 20)).toEqual(["0.839", "1.000"]);
  expect(rounded(0, 0)).toEqual(["0.000", "1.000"]);
  expect(tableOf(new Map([["runs", { noticed: 8, judged: 10, equivalent: 1 }]]))).toBe(
    "area  noticed  score  95 %          equivalent\nruns  8 / 10   80 %   49 % to 94 %  1",
  );
});

describe("tests", () => {
  const cost = (test: string, cpuMs = 1000): { test: string; cpuMs: number } => ({ test, cpuMs });

  test("come nearest first, then cheapest first", () => {
    const tests = [
      cost("packages/http/test/runs.test.ts"),
      cost("packages/core/test/app.test.ts"),
      cost("packages/core/test/runs/pause.test.ts", 2000),
      cost("packages/core/test/runs/fork-keys.test.ts"),
      cost("packages/core/test/runs/cancel.test.ts"),
    ];
    const ordered = nearestFirst("packages/core/src/runs/fork-keys.ts", tests).map(({ test }) => test);
    const names = ordered.map((test) => test.split("/").slice(1).join("/"));
    expect(names).toEqual([
      "core/test/runs/fork-keys.test.ts",
      "core/test/runs/cancel.test.ts",
      "core/test/runs/pause.test.ts",
      "core/test/app.test.ts",
      "http/test/runs.test.ts",
    ]);
  });

  test("are run in groups that grow, and one that is long is alone", () => {
    const many = Array.from({ length: 40 }, (_, i) => cost(`${i}`, 2000));
    expect(batchesOf(many).map((batch) => batch.length)).toEqual([3, 7, 15, 15]);
    expect(batchesOf([cost("long", 500_000), cost("short")])).toHaveLength(2);
    expect(batchesOf([])).toEqual([]);
  });
});

describe("coverage", () => {
  const range = (startOffset: number, endOffset: number, count: number) => ({
    startOffset,
    endOffset,
    count,
  });

  test("of a line is that of the innermost range", () => {
    const text = "a();\nif (b) {\n  c();\n}\nd();\n";
    const functions = [{ ranges: [range(0, text.length, 1), range(12, 22, 0)] }];
    expect([...reachedLines(wordsOf(text), functions)]).toEqual([1, 2, 5]);
  });

  test("follows a source map", () => {
    // One line, which comes from the third one of its source.
    const map = { version: 3, sources: ["a.ts"], names: [], mappings: "AAEA" };
    const encoded = Buffer.from(JSON.stringify(map)).toString("base64");
    const text = `a();\n//# sourceMappingURL=data:application/json;base64,${encoded}\n`;
    expect([...reachedLines(wordsOf(text), [{ ranges: [range(0, text.length, 1)] }])]).toEqual([3]);
  });

  test("is kept as ranges of lines", () => {
    const kept = rangesOf(new Set([7, 1, 2, 3]));
    expect(kept).toBe("1-3,7");
    expect([0, 1, 3, 4, 7, 8].filter((line) => hasLine(kept, line))).toEqual([1, 3, 7]);
  });

  test("counts whole files once their text has changed", () => {
    const base = join(folder, "changed");
    mkdirSync(join(base, "packages/p/test"), { recursive: true });
    mkdirSync(join(base, "packages/p/src"), { recursive: true });
    writeFileSync(join(base, "packages/p/test/a.test.ts"), "");
    writeFileSync(join(base, "packages/p/src/a.ts"), "one\ntwo\n");
    const known = { test: "packages/p/test/a.test.ts", hash: "e3b0c44298fc1c14", ok: true, cpuMs: 1 };
    const reaches = (hash: string) => ({ "packages/p/src/a.ts": { hash, lines: "2" } });
    const lines = (hash: string, outdated: number): number[] => {
      writeFileSync(join(base, "one.json"), JSON.stringify({ ...known, reaches: reaches(hash) }));
      const map = new TestMap(base, base);
      expect([map.outdated(false).length, map.outdated(true).length]).toEqual([0, outdated]);
      return [1, 2].filter((line) => map.reaching("packages/p/src/a.ts", line).length === 1);
    };
    expect(lines("old", 1)).toEqual([1, 2]);
    expect(lines(hashOf("one\ntwo\n"), 0)).toEqual([2]);
  });
});

test("verdicts are read again, without a line that was cut off", () => {
  const path = join(folder, "results.jsonl");
  const result = { commit: "c", seed: 1, area: "runs", id: "x", noticed: true } as Result;
  new Results(path).add(result);
  appendFileSync(path, '{"commit":');
  const again = new Results(path);
  expect(again.get(result)?.noticed).toBe(true);
  expect(again.get({ ...result, seed: 2 })).toBeUndefined();
});

test("a process that does not end is ended with the processes that it started", async () => {
  const pidFile = join(folder, "pid");
  const inner = "setInterval(() => {}, 1000)";
  const outer = `
    const { spawn } = require("node:child_process");
    const child = spawn(process.execPath, ["-e", ${JSON.stringify(inner)}], { detached: true, stdio: "ignore" });
    require("node:fs").writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));
    console.log("started"); setInterval(() => {}, 1000);`;
  const ended = await runNode(["-e", outer], { cwd: folder, wallMs: 60_000, until: /started/ });
  expect(ended).toMatchObject({ code: null, stopped: "text" });
  const pid = Number(readFileSync(pidFile, "utf8"));
  await expect.poll(() => isRunning(pid)).toBe(false);
});

function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

test("a copy has links to its own packages, and gets its text back", async () => {
  const base = join(folder, "workspace");
  mkdirSync(join(base, "packages/core"), { recursive: true });
  mkdirSync(join(base, "node_modules/@durable"), { recursive: true });
  mkdirSync(join(base, "node_modules/other"));
  symlinkSync("../../packages/core", join(base, "node_modules/@durable/core"));
  writeFileSync(join(base, "packages/core/a.ts"), "before");
  writeFileSync(join(base, ".gitignore"), "node_modules\n");
  execFileSync("git", ["init", "--quiet"], { cwd: base });
  const scratch = new Scratch(base);
  const copied = join(scratch.root, "packages/core/a.ts");
  expect(realpathSync(join(scratch.root, "node_modules/@durable/core/a.ts"))).toBe(realpathSync(copied));
  expect(realpathSync(join(scratch.root, "node_modules/other"))).toBe(
    realpathSync(join(base, "node_modules/other")),
  );
  await scratch.with("packages/core/a.ts", "after", async () => {
    expect(readFileSync(copied, "utf8")).toBe("after");
    expect(readFileSync(join(base, "packages/core/a.ts"), "utf8")).toBe("before");
  });
  expect(readFileSync(copied, "utf8")).toBe("before");
  scratch.remove();
});
