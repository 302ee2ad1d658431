import { afterEach, expect, inject, test } from "vitest";
import { killAll, killAt } from "./support/kills.ts";

afterEach(killAll);

const full = inject("full");
/** Every third, or all of them with `KILLS=all`. */
const step = process.env["KILLS"] === "all" ? 1 : 3;
const range = (first: number, last: number): number[] =>
  Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => first + i * step);

// Streamed there are 48 instants, whole 26. In the sample one in the middle of each.
const kills = [
  ...(full ? range(1, 46) : [14]).map((instant) => ["stream", instant] as const),
  ...(full ? range(1, 26) : [23]).map((instant) => ["whole", instant] as const),
];

test.each(kills)(
  "SIGKILL, %s, at instant %i: one answer, each effect once, one question, at most one call more",
  {
    timeout: 300_000,
  },
  async (mode, instant) => {
    expect(await killAt(instant, mode)).toMatchObject({ killed: true, wrong: [] });
  },
);

test.runIf(full).each(["stream", "whole"] as const)(
  "without a kill: %s",
  { timeout: 300_000 },
  async (mode) => {
    expect(await killAt(0, mode)).toMatchObject({ killed: false, wrong: [], extra: 0 });
  },
);
