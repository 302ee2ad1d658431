import { describe, expect, inject, it } from "vitest";
import { MemoryStorage, type ListPage, type ListQuery, type Workflow } from "../../../src/index.ts";
import type { AppendRequest, Lease, ReadReply } from "../../../src/storage.ts";
import { answers, everyOperation } from "../../support/every-operation.ts";
import { compareJournals, firstDifference, onBoth, type Play } from "./support/journals.ts";
import { randomOps } from "./support/ops.ts";
import { compareTraces, findDifference } from "./support/traces.ts";

// A fixed sample of what `npm run soak:sqlite` does for as long as it is told to.
const [traces, worlds, n] = inject("full") ? [250, 12, 3] : [8, 1, 1];

describe("SqliteStorage answers like MemoryStorage", () => {
  it("reply by reply, to random lists of 60 operations (H17, H18)", { timeout: 300_000 }, async () => {
    expect(await compareTraces({ traces, seed: 1 })).toEqual({ traces, operations: traces * 60 });
  });

  it("batch by batch, to worlds of workflows, answers and forks (H18)", { timeout: 300_000 }, async () => {
    const { worlds: compared, calls } = await compareJournals({ worlds, seed: 1 });
    expect(compared).toBe(worlds);
    expect(calls).toBeGreaterThan(83 * worlds);
  });

  const { sequence, branches, works, family } = everyOperation();
  it.each<Workflow<{ n: number }, unknown>>([sequence, branches, works, family])(
    "batch by batch, to every operation of a context: $name (H18)",
    async (flow) => {
      const play: Play = async (host) => {
        const bound = flow.with(host);
        for (;;) {
          const outcome = await bound.run({ n }, { id: "every" });
          if (outcome.status !== "suspended") return outcome;
          const point = outcome.waiting.find(({ name }) => name in answers);
          if (point !== undefined)
            await bound.resume(point.token, answers[point.name as keyof typeof answers]);
          else await new Promise<void>((resolve) => void host.world.timer(3_600_000, resolve));
        }
      };
      const both = await onBoth(5, play);
      expect(firstDifference(both)).toBeNull();
      expect(both.sqlite.output).toContain('"status":"completed"');
      expect(Object.values(both.sqlite.journals).flat().length).toBeGreaterThan(10);
    },
  );
});

/** Storages with a fault each, as one may creep in. */
const faulty = {
  "gives up a lease whoever asks": class extends MemoryStorage {
    readonly #owners = new Map<string, string>();
    override async lease(locator: string, owner: string, ttlMs: number): Promise<Lease | null> {
      const lease = await super.lease(locator, owner, ttlMs);
      if (lease !== null) this.#owners.set(locator, owner);
      return lease;
    }
    override release(locator: string, owner: string, quietMs?: number): Promise<void> {
      return super.release(locator, this.#owners.get(locator) ?? owner, quietMs);
    }
  },
  "keeps the lease that an append gives back": class extends MemoryStorage {
    override append({ lease, ...request }: AppendRequest): Promise<void> {
      return super.append(lease === null || lease === undefined ? request : { ...request, lease });
    }
  },
  "forgets that a run wants quiet": class extends MemoryStorage {
    override release(locator: string, owner: string): Promise<void> {
      return super.release(locator, owner);
    }
  },
  "forgets the end of a page": class extends MemoryStorage {
    override async list(query: ListQuery = {}): Promise<ListPage> {
      const { runs, next } = await super.list(query);
      return { runs, next: runs.length === 3 ? null : next };
    }
  },
  "does not count the readers of a deleted run": class extends MemoryStorage {
    override append(request: AppendRequest): Promise<void> {
      const { head } = request;
      return super.append({ ...request, head: { ...head, ancestors: head.ancestors.slice(0, 1) } });
    }
  },
  "keeps the note of a run that is leased": class extends MemoryStorage {
    override async lease(locator: string, owner: string, ttlMs: number): Promise<Lease | null> {
      const { blocked } = await super.read(locator);
      const lease = await super.lease(locator, owner, ttlMs);
      if (lease !== null && blocked !== undefined) await super.note(locator, blocked);
      return lease;
    }
  },
  "counts a start that was given back": class extends MemoryStorage {
    override lease(locator: string, owner: string, ttlMs: number): Promise<Lease | null> {
      return super.lease(locator, owner, ttlMs || Number.MIN_VALUE);
    }
  },
  "takes forks of batches that were dropped": class extends MemoryStorage {
    override append(request: AppendRequest): Promise<void> {
      const { head } = request;
      const readsFrom = head.ancestors.map(() => 100);
      return super.append({ ...request, head: { ...head, readsFrom } });
    }
  },
  "reads a chapter from the first batch": class extends MemoryStorage {
    override async readChapter(locator: string): Promise<ReadReply & { readonly from: number }> {
      return { ...(await super.read(locator)), from: 0 };
    }
  },
};

describe("a storage that answers otherwise is found out", () => {
  it.each(Object.entries(faulty))("%s", async (_what, Faulty) => {
    let found: string | null = null;
    for (let seed = 1; found === null && seed <= 250; seed++)
      found = await findDifference(randomOps(seed, 60), (now) => new Faulty({ now }));
    const [difference = "", ...ops] = (found ?? "").split("\n");
    expect(difference).toMatch(/ gave .*, expected .*, after$/);
    expect(ops.length, `shortest:\n${ops.join("\n")}`).toBeLessThanOrEqual(7);
  });
});
