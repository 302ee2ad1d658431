/** A token of a deleted run is `unknown` to the next run of its id, also as an early answer. */

import { describe, expect, it } from "vitest";
import { markOf, waitOf } from "../../src/journal/keys.ts";

describe("the mark of an incarnation", () => {
  it("is four of the ten characters of a wait", () => {
    expect(waitOf("approve", "n1")).toHaveLength(10);
    expect(markOf("n1")).toHaveLength(4);
    expect(waitOf("approve", "n1").startsWith(markOf("n1"))).toBe(true);
    expect(waitOf("other", "n1").startsWith(markOf("n1"))).toBe(true);
  });

  it("tells 8,000 new incarnations from an old one, where two characters took some of them for it", () => {
    const old = waitOf("approve", "old");
    const taken = (length: number): number =>
      Array.from({ length: 8_000 }, (_, n) => markOf(`new ${n}`)).filter((mark) =>
        old.startsWith(mark.slice(0, length)),
      ).length;
    expect(taken(2)).toBeGreaterThan(0);
    expect(taken(4)).toBe(0);
  });
});
