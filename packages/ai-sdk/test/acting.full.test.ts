/** Programs that act on the words of a stream: 40 kills each, and real processes that are killed. */

import { afterAll, describe, expect, test } from "vitest";
import { survive, type Survived } from "./acting/kills.ts";
import { killsOf } from "./acting/plan.ts";
import { programs } from "./acting/programs.ts";
import { killProcess } from "./acting/sigkill.ts";

const count = 40;
/** Runs at once. */
const beside = 8;
const all: Survived[] = [];

afterAll(() => {
  const kills = all.reduce((sum, one) => sum + one.kills, 0);
  const requests = all.reduce((sum, one) => sum + one.requests, 0);
  console.log(`${all.length} runs, ${kills} kills, ${requests} requests of the provider`);
});

describe.each(Object.entries(programs))("%s", (name, program) => {
  test(`H47 ${count} kills with other words in the next life: not blocked, no call lost or doubled`, async () => {
    const kills = await killsOf(program, count);
    const ends: Survived[] = [];
    for (let i = 0; i < count; i += beside)
      ends.push(...(await Promise.all(kills.slice(i, i + beside).map((kill) => survive(program, kill)))));
    all.push(...ends);
    expect(ends.flatMap(({ troubles }) => troubles)).toEqual([]);
    expect(ends.reduce((sum, end) => sum + end.kills, 0)).toBeGreaterThanOrEqual(count);
  });

  test.each([4, 10, 15, 20])("H47 SIGKILL after %i events", async (lines) => {
    const end = await killProcess(name, lines);
    all.push(end);
    expect(end).toMatchObject({ troubles: [], kills: 1 });
  });
});
