/** What a claim looks at: about as much as it takes, however many keys and runs there are (claim-order.3). */

import { describe, expect, it } from "vitest";
import { claimInOrder, type DueRunsIndex } from "../../src/ports/claim-order.ts";
import { FairTurns } from "../../src/ports/fair-turns.ts";

interface Due {
  readonly id: number;
  readonly order: number;
  readonly fair: string;
  readonly slot?: string;
}

/** Due runs, and how many keys and runs were looked at. */
function indexOf(runs: readonly Due[], taken: Readonly<Record<string, number>> = {}) {
  const counts = { looks: 0 };
  const sorted = runs.toSorted((a, b) => a.order - b.order || a.id - b.id);
  const lanes = Map.groupBy(sorted, ({ fair }) => fair);
  const keys = [...lanes.keys()].toSorted();
  const slots = new Map([...lanes].map(([fair, of]) => [fair, Map.groupBy(of, ({ slot }) => slot ?? "")]));
  const first = (of: readonly Due[] | undefined, most: number): Due[] => {
    const found = of?.slice(0, most) ?? [];
    counts.looks += 1 + found.length;
    return found;
  };
  const next = (of: readonly string[], after: string | null): string | null => {
    counts.looks += 1;
    return of.find((key) => after === null || key > after) ?? null;
  };
  const index: DueRunsIndex<Due> = {
    nextFair: (_, after) => next(keys, after),
    due: ({ fair }, most) => first(lanes.get(fair), most),
    nextSlot: ({ fair }, after) => next([...(slots.get(fair)?.keys() ?? [])].toSorted(), after),
    dueOfSlot: ({ fair }, slot, most) => first(slots.get(fair)?.get(slot), most),
    taken: (_, slot) => {
      counts.looks += 1;
      return taken[slot] ?? 0;
    },
    about: (run) => run,
  };
  return { index, counts };
}

const many = (count: number, of: (n: number) => Omit<Due, "id" | "order">): Due[] =>
  Array.from({ length: count }, (_, n) => ({ id: n, order: n, ...of(n) }));

function claim(runs: readonly Due[], limit: number, { turns = new FairTurns(), most = 1, taken = {} } = {}) {
  const { index, counts } = indexOf(runs, taken);
  const request = { workflow: ["w"], limit, slots: { w: most } };
  const found = claimInOrder(index, request, { turns, turn: 0 });
  return { ids: found.map(({ id }) => id), looks: counts.looks };
}

const sizes = [1, 100, 5_000];

describe("a claim of ten runs looks at about as much, whether there are 1, 100 or 5,000", () => {
  const kinds: Record<string, (n: number) => Omit<Due, "id" | "order">> = {
    slots: (n) => ({ fair: "", slot: `k${n}` }),
    "keys of fair": (n) => ({ fair: `k${n}` }),
    "keys of fair with a slot each": (n) => ({ fair: `k${n}`, slot: `k${n}` }),
    "runs without keys": () => ({ fair: "" }),
  };

  it.each(Object.entries(kinds))("%s", (_, of) => {
    const looks = sizes.map((size) => claim(many(10 * size, of), 10).looks);
    expect(Math.max(...looks.slice(1)) / Math.min(...looks.slice(1))).toBeLessThanOrEqual(2);
    expect(Math.max(...looks)).toBeLessThan(700);
  });

  it("runs of one slot that is taken, in front of others", () => {
    const looks = sizes.map((size) => {
      const runs = many(100 * size + 10, (n) => ({ fair: "", slot: n < 100 * size ? "full" : `k${n}` }));
      const { ids, looks: seen } = claim(runs, 10, { taken: { full: 1 } });
      expect(ids).toHaveLength(10);
      return seen;
    });
    expect(Math.max(...looks)).toBeLessThan(700);
  });
});

describe("keys of fair", () => {
  const runs = many(3_000, (n) => ({ fair: `k${String(n % 1_000).padStart(4, "0")}` }));

  it("get their turn one after the other, over all claims", () => {
    const turns = new FairTurns();
    const seen = new Set<string>();
    let left = runs;
    for (let n = 0; n < 100; n++) {
      const { ids } = claim(left, 10, { turns });
      for (const id of ids) seen.add(runs[id]!.fair);
      left = left.filter(({ id }) => !ids.includes(id));
    }
    expect(seen.size).toBe(1_000);
  });

  it("whose slots are taken are passed over, and one behind many of them is found", () => {
    const turns = new FairTurns();
    const clogged = runs.map((run) => ({ ...run, slot: run.fair === "k0700" ? "free" : "full" }));
    const found: number[] = [];
    for (let n = 0; n < 30 && found.length === 0; n++) {
      const { ids, looks } = claim(clogged, 10, { turns, taken: { full: 1 } });
      found.push(...ids);
      expect(looks).toBeLessThan(5_000);
    }
    expect(found.map((id) => clogged[id]!.fair)).toEqual(["k0700"]);
  });
});
