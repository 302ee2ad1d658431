/** The test of the tests, in small: patches still apply, nothing is without one, and some die at once. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { root } from "../lib/workspace.ts";
import { hunt } from "../mutants/hunt.ts";
import { isOtherCode, mask, mutantsOf } from "../mutants/mutate.ts";
import { coreSources, patched, patchesOf, readSource, type PlantedBug } from "../mutants/patch.ts";
import { planted } from "../mutants/planted.ts";

const laws = Array.from({ length: 12 }, (_, i) => `law ${i + 1}`);

/** What the headers of the files promise: journal.1, engine.3, outbox.2, ... */
function numbered(pattern: string): string[] {
  const files = globSync(pattern, { cwd: coreSources });
  const heads = files.map((file) => readFileSync(join(coreSources, file), "utf8").split("*/", 1)[0] ?? "");
  return heads.flatMap((head) =>
    Array.from(head.matchAll(/^ \* ([a-z-]+\.\d)\. /gm), ([, name]) => name ?? ""),
  );
}

/** Packing, the codec, SQLite and encryption are proven by tests of their own. */
const watched =
  "{*,worker/*,copy/*,inspect/*,schedules/*,standalone/*,runs/*,ports/claim-order,engine/**/*,journal/[!p]*,adapters/{memory,memory/*,remote/*}}.ts";

test("there are many, and no two of one name", () => {
  expect(planted.length).toBeGreaterThanOrEqual(40);
  expect(new Set(planted.map(({ name }) => name)).size).toBe(planted.length);
});

test.each(planted.map((bug) => [bug.name, bug] as const))("%s still applies", (_, bug) => {
  for (const { file } of patchesOf(bug)) {
    const source = readSource(file);
    expect(patched(file, source, patchesOf(bug))).not.toBe(source);
  }
});

test("the tests that are to catch a bug exist", () => {
  const named = planted.flatMap(({ seenBy }) => (seenBy === undefined ? [] : [seenBy.test]));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("every law and every numbered invariant has one", () => {
  const promises = [...laws, ...numbered(watched)];
  expect(new Set(promises).size).toBe(promises.length);
  expect(promises.length).toBeGreaterThan(50);
  expect(promises.filter((promise) => !planted.some(({ breaks }) => breaks === promise))).toEqual([]);
  expect(planted.map(({ breaks }) => breaks).filter((breaks) => !promises.includes(breaks))).toEqual([]);
});

test("a patch whose text is gone, or is there twice, is refused", () => {
  const patch = { file: "a.ts", find: "one", replace: "two" };
  expect(patched("a.ts", "one and all", [patch])).toBe("two and all");
  expect(patched("b.ts", "none", [patch])).toBe("none");
  expect(() => patched("a.ts", "nothing", [patch])).toThrow("no longer has");
  expect(() => patched("a.ts", "one by one", [patch])).toThrow("more than one");
});

test("a patch applies however its source is formatted", () => {
  const patch = { file: "a.ts", find: "one(a, b)", replace: "two()" };
  expect(patched("a.ts", "if (one(\n  a,\n  b)) all();", [patch])).toBe("if (two()) all();");
});

test("a bug whose place cannot be told is refused", () => {
  const bug = { name: "a bug", breaks: "law 1", why: "It is tried here.", replace: "" };
  expect(() => patchesOf({ ...bug, find: "no such text in core" })).toThrow("no longer has");
  expect(() => patchesOf({ ...bug, find: "return" })).toThrow("Say what stands beside it");
});

test("a mutant changes code, and neither comments nor texts", () => {
  const source = 'if (a && b) say("x && y", `${a} || b`); // a && b\nconst list = [first(0), 1];\n';
  expect(mask(source)).toHaveLength(source.length);
  expect(mutantsOf("a.ts", source).map(({ name, after }) => `${name}: ${after}`)).toEqual([
    'a.ts:1 negate a condition: if (!(a && b)) say("x && y", `${a} || b`); // a && b',
    'a.ts:1 swap && for ||: if (a || b) say("x && y", `${a} || b`); // a && b',
    "a.ts:2 drop the first element: const list = [ 1];",
    "a.ts:2 0 becomes 1: const list = [first(1), 1];",
    "a.ts:2 1 becomes 0: const list = [first(0), 0];",
  ]);
});

test("a mutant of types alone is none, and each stands where it says", () => {
  const mutants = mutantsOf("engine/scope.ts");
  const typed = mutants.filter(({ before }) => before.includes("by: 1 | 0 | -1"));
  expect(typed.map(isOtherCode)).toEqual([false, false, false]);
  for (const { file, find, replace } of mutants)
    expect(() => patched(file, readSource(file), [{ file, find, replace }])).not.toThrow();
});

// Each is a process of its own: one bug of a storage and one of the engine here, more in `npm run test:full`.
const full = inject("full");
const sample = [
  "no-compare-and-swap",
  "settled-meanwhile-dropped",
  ...(full ? ["acknowledged-one-append-early", "microtasks-not-drained"] : []),
];

// The first one takes as long as ten others.
const seeds = full ? Array.from({ length: 25 }, (_, i) => i + 1) : [2, 3, 4];

test.each(sample)("%s is caught within a few seeds", { timeout: 180_000 }, async (name) => {
  const bug = planted.find((one) => one.name === name) as PlantedBug;
  const found = await hunt({ patches: patchesOf(bug), seeds });
  // On a busy machine the watchdog may be first.
  expect(found).toMatchObject({ kind: "caught", by: expect.stringMatching(/^(I\d+|hang)$/) });
});

test("the sound engine passes them", { timeout: 180_000 }, async () => {
  expect(await hunt({ patches: [], seeds })).toMatchObject({ kind: "survived" });
});
