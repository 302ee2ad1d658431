/**
 * The same program, plain, in a run, and in the run's next life, is equal, or differs as documented.
 *
 * D1. What it sees in the run is what it sees without.
 * D2. What it sees in the next life is what it saw in the run.
 * D3. In the run the provider is asked and the tools run as often as without; in the next life never.
 * D4. Every difference is in the table of the documentation, and is real.
 */

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { beforeAll, describe, expect, inject, test, vi } from "vitest";
import { differences } from "./differences.ts";
import { sdkOf, threeWays, type Ran } from "./harness.ts";
import type { Major, Program } from "./program.ts";
import { areas } from "./programs/index.ts";
import { Observer } from "./seen.ts";
import { heldTime, holdSignals } from "./time.ts";

beforeAll(() => {
  for (const [name, held] of Object.entries(heldTime)) vi.stubGlobal(name, held);
  vi.stubGlobal("AI_SDK_LOG_WARNINGS", false);
  const release = holdSignals();
  return () => {
    vi.unstubAllGlobals();
    release();
  };
});

const majors: readonly Major[] = [5, 6, 7];
const all = areas.flatMap(({ programs }) => programs);

/** An abort, and a provider that streams, are outside of the run. */
const foreign = /after awaiting something other than ctx/;

function withoutIn({ differs = [] }: Program, major: Major, way: "run" | "next life"): string[] {
  const fitting = differs.filter(
    ({ in: ways, versions = majors }) => ways.includes(way) && versions.includes(major),
  );
  return fitting.flatMap(({ without }) => without);
}

describe.each(majors)("ai %i", (major) => {
  // All programs in `npm run test:full`. Here, with the latest version those that differ and half of the others;
  // with an older version one in eight.
  const isChosen = (program: Program): boolean => {
    if (inject("full")) return true;
    const n = all.indexOf(program);
    if (major !== majors.at(-1)) return (n + major) % 8 === 0;
    return program.differs !== undefined || n % 2 === 0;
  };
  const data = ({ seen }: Ran, without: readonly string[] = []): unknown =>
    new Observer(sdkOf(major), without).data(seen);

  const fitting = areas.flatMap(({ area, programs }) => {
    const known = programs.filter(
      (program) => (program.versions ?? majors).includes(major) && isChosen(program),
    );
    return known.length === 0 ? [] : [{ area, programs: known }];
  });
  describe.each(fitting)("$area", ({ programs }) => {
    test.each(programs)("$name", async (program) => {
      const { plain, run, nextLife } = await threeWays(program, major);
      const [inRun, inNext] = [withoutIn(program, major, "run"), withoutIn(program, major, "next life")];
      expect(data(run, inRun), "D1").toEqual(data(plain, inRun));
      expect(data(nextLife, inNext), "D2").toEqual(data(run, inNext));
      expect(run.tools, "D3").toBe(plain.tools);
      if (!inRun.includes("calls")) expect(run.calls, "D3").toBe(plain.calls);
      expect([nextLife.calls, nextLife.tools], "D3").toEqual([0, 0]);
      expect([...run.warnings, ...nextLife.warnings].filter((text) => !foreign.test(text))).toEqual([]);
      const real = [
        inRun.length === 0 || run.calls !== plain.calls || !isDeepStrictEqual(data(run), data(plain)),
        inNext.length === 0 || !isDeepStrictEqual(data(nextLife), data(run)),
      ];
      expect(real, "D4").toEqual([true, true]);
    });
  });
});

test("at least 60 programs", () => {
  const names = areas.flatMap(({ programs }) => programs.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(60);
});

test("D4 the table of the documentation is the list of differences, and each has a program", () => {
  const page = new URL("../../../../docs/guides/integrate/ai-sdk-differences.md", import.meta.url);
  const ids = [...readFileSync(page, "utf8").matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, id]) => id);
  expect(ids).toEqual(differences);
  const used = areas.flatMap(({ programs }) =>
    programs.flatMap(({ differs = [] }) => differs.map(({ why }) => why)),
  );
  expect(new Set(used)).toEqual(new Set(differences));
});
