/** Which kills a program gets: spread over its appends, on both sides, at several paces. */

import { survive, type Kill } from "./kills.ts";
import type { Program } from "./programs.ts";

const paces = [
  { paceMs: 3, callMs: 1 },
  { paceMs: 15, callMs: 10 },
  { paceMs: 12, callMs: 40 },
];

/** `count` kills; every third one has a second kill in the next life. */
export async function killsOf(program: Program, count: number): Promise<Kill[]> {
  const calm = await Promise.all(
    paces.map((pace) => survive(program, { ...pace, append: 0, fault: "crash-before" })),
  );
  return Array.from({ length: count }, (_, i) => {
    const pace = i % paces.length;
    const { appends, troubles } = calm[pace]!;
    if (troubles.length > 0) throw new Error(`Without a kill: ${troubles.join("; ")}`);
    // The last append ends the run. After it there is nothing to kill.
    const places = Math.max(1, appends - 1);
    const append = 1 + Math.floor((Math.floor(i / 2) * 2 * places) / count);
    const fault = i % 2 === 0 ? "crash-before" : "crash-after";
    return { ...paces[pace]!, append, fault, ...(i % 3 === 2 ? { again: 2 + (i % 5) } : {}) };
  });
}
