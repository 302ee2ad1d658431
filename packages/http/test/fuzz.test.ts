/** Malformed requests over real sockets. The long form is `npm run soak:http`. */

import { expect, test } from "vitest";
import { fuzz } from "./support/fuzz.ts";

test("H64 fifteen hundred malformed requests of one seed: no 5xx, nothing hangs, and a good one is answered after", async () => {
  const { answers, memoryGrowth, ...result } = await fuzz({ requests: 1_500, seed: 7, warmUp: 500 });
  expect(result).toMatchObject({ serverErrors: 0, hanging: 0, faults: 0, goodAfter: true });
  expect(result.malformed).toBeGreaterThanOrEqual(1_500);
  // It reached every layer: the parser of HTTP, paths, methods, media types, bodies, tokens, signatures.
  for (const status of ["400", "401", "404", "405", "413", "415"])
    expect([status, (answers[status] ?? 0) > 5]).toEqual([status, true]);
  expect(memoryGrowth).toBeLessThan(64 * 1024 * 1024);
}, 300_000);
