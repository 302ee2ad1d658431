import { afterEach, expect, inject, test } from "vitest";
import { ideal, killAll, killAt } from "./support/kills.ts";

afterEach(killAll);

const full = inject("full");

// After a kill the numbers are checked as well.
test.runIf(full)(
  "without a kill: the expected number of calls and effects",
  { timeout: 300_000 },
  async () => {
    const calm = await killAt(0);
    expect(calm).toMatchObject({ killed: false, calls: ideal.calls, requests: ideal.effects });
    // The instants below lie before its end.
    expect(calm.instants).toBeGreaterThan(36);
  },
);

// In the first answer, at its end, in the tools, in the second answer, at its end, and in the last.
test.each(full ? [3, 13, 15, 17, 22, 30] : [17])(
  "H47 SIGKILL at instant %i: recorded tools do not run again, each effect happens once",
  { timeout: 300_000 },
  async (instant) => {
    expect(await killAt(instant)).toMatchObject({ killed: true });
  },
);
