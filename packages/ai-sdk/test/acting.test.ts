/** Programs that act on the words of a stream, killed, with other words in the next life: a sample. */

import { describe, expect, test } from "vitest";
import { killsOf } from "./acting/plan.ts";
import { survive } from "./acting/kills.ts";
import { programs } from "./acting/programs.ts";
import { killProcess } from "./acting/sigkill.ts";

const some = Object.entries(programs).filter((_, n) => n % 4 === 1);

describe.each(some)("%s", (_, program) => {
  test("H47 killed at any append: not blocked, and no call is lost or doubled", async () => {
    const all = await killsOf(program, 3);
    const ends = await Promise.all(all.map((kill) => survive(program, kill)));
    expect(ends.flatMap(({ troubles }) => troubles)).toEqual([]);
    expect(ends.reduce((sum, { kills }) => sum + kills, 0)).toBeGreaterThanOrEqual(3);
  });
});

test("H47 SIGKILL of a process whose program acts on words", async () => {
  const end = await killProcess("an agent with tools that speaks", 20);
  expect(end).toMatchObject({ troubles: [], kills: 1 });
});
