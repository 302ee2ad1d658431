/** `tally`: true counts of what runs do, in one call. Proven in test/conformance.test.ts. */

import type { RunHead } from "@durable/core";
import type { RunTally } from "@durable/core/storage";
import { expect } from "vitest";
import { request, type Checks, type Subject } from "./subject.ts";

/** The parts of a tally, in one order. */
async function tallied(subject: Subject): Promise<RunTally[]> {
  const found = await subject.optional("tally")(subject.clock.now);
  const texts = new Map(found.map((part) => [part, JSON.stringify(part)]));
  return found.toSorted((a, b) => ((texts.get(a) ?? "") < (texts.get(b) ?? "") ? -1 : 1));
}

/** What the parts of a tally say about all runs together. */
function sumOf(parts: readonly RunTally[], wanted: (part: RunTally) => boolean): number {
  return parts.filter(wanted).reduce((sum, { runs }) => sum + runs, 0);
}

export const tallyChecks: Checks = {
  "a tally counts runs that have not ended by what they do": async (subject) => {
    const { storage, clock } = subject;
    const now = clock.now;
    expect(await tallied(subject)).toEqual([]);
    for (let n = 0; n < 3; n++) await subject.create({ wakeAt: now - 1_000 + n });
    await subject.create({ wakeAt: now }, { owner: "a", ttlMs: 1_000 });
    await subject.create({ status: "suspended", wakeAt: now + 5_000 });
    await subject.create({ status: "suspended", wakeAt: now + 4_000 });
    await subject.create({ status: "suspended", wakeAt: null, waits: { count: 2, expiresAt: null } });
    await subject.create({ status: "paused", wakeAt: null, workflow: "deploy" });
    for (const status of ["completed", "failed", "cancelled"] as const) {
      const head = await subject.create({}, { owner: "a", ttlMs: 1_000 });
      await storage.append(request({ ...head, status, wakeAt: null, dueSince: null }, 1, null));
    }
    const loan = { workflow: "loan", waits: false, driven: false, due: false };
    const suspended = { ...loan, status: "suspended", dueSince: null };
    const parts = await tallied(subject);
    const expected = [
      { ...loan, status: "running", due: true, runs: 3, wakeAt: now - 1_000, dueSince: now - 1_000 },
      { ...loan, status: "running", driven: true, runs: 1, wakeAt: now, dueSince: null },
      { ...suspended, runs: 2, wakeAt: now + 4_000 },
      { ...suspended, runs: 1, waits: true, wakeAt: null },
      { ...suspended, workflow: "deploy", status: "paused", runs: 1, wakeAt: null },
    ];
    expect(parts).toHaveLength(expected.length);
    expect(parts).toEqual(expect.arrayContaining(expected));
  },

  "a tally finds a run due exactly when lists do": async (subject) => {
    const { storage, clock } = subject;
    const agree = async (due: number): Promise<void> => {
      expect(await subject.due()).toHaveLength(due);
      expect(sumOf(await tallied(subject), (part) => part.due)).toBe(due);
    };
    const head = await subject.create({}, { owner: "a", ttlMs: 1_000 });
    await subject.create({ status: "suspended", wakeAt: clock.now + 3_000 });
    await agree(0);
    clock.now += 1_000;
    await agree(1);
    await storage.lease(head.locator, "b", 1_000);
    await agree(0);
    await storage.release(head.locator, "b", 500);
    await agree(0);
    clock.now += 500;
    await agree(1);
    clock.now += 1_500;
    await agree(2);
  },

  "a tally knows blocked runs by their note, and marks": async (subject) => {
    const note = subject.optional("note");
    const head = await subject.create({ status: "suspended", wakeAt: null });
    await note(head.locator, { code: "diverged", message: "m", since: subject.clock.now, length: 1 });
    const marks = ["waiting", "failing", "cancelling"] as const;
    const question = '","mark":"failing"';
    for (const mark of marks) await subject.create({ mark, waits: { count: 1, expiresAt: null, question } });
    const parts = await tallied(subject);
    expect(sumOf(parts, ({ status }) => status === "blocked")).toBe(1);
    for (const mark of marks) expect(sumOf(parts, (part) => part.mark === mark)).toBe(1);
    await subject.storage.append(request(head, 1));
    expect(sumOf(await tallied(subject), ({ status }) => status === "blocked")).toBe(0);
  },

  "a tally counts a priority out of the time since when a run is due": async (subject) => {
    const since = subject.clock.now - 7_000;
    const flow: NonNullable<RunHead["flow"]> = { priority: 60, slot: "s", fair: "f" };
    await subject.create({ wakeAt: 0, dueSince: since, flow });
    await subject.create({ wakeAt: 0, dueSince: since + 1_000 });
    expect(await tallied(subject)).toMatchObject([{ runs: 2, due: true, wakeAt: 0, dueSince: since }]);
    await subject.create({ wakeAt: 0, dueSince: since - 500, flow: { priority: -60 } });
    expect(await tallied(subject)).toMatchObject([{ runs: 3, due: true, wakeAt: 0, dueSince: since - 500 }]);
  },

  "a tally counts deleted runs no longer, and as many as there are": async (subject) => {
    const heads = await Promise.all(Array.from({ length: 1_205 }, () => subject.create()));
    expect(sumOf(await tallied(subject), ({ due }) => due)).toBe(1_205);
    await subject.storage.delete(heads[0]?.locator ?? "");
    expect(sumOf(await tallied(subject), () => true)).toBe(1_204);
  },
};
