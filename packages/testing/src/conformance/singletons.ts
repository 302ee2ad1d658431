/** Singletons: of the runs of a workflow with one text, one has not ended. Proven in test/conformance.test.ts. */

import type { RunHead } from "@durable/core";
import { expect } from "vitest";
import { headOf, refused, request, type Checks } from "./subject.ts";

export const singletonChecks: Checks = {
  "limits: a singleton is refused while another run has not ended": async (subject) => {
    const { storage } = subject;
    const flow = { singleton: "one" };
    expect(subject.limits).toBeDefined();
    const first = await subject.create({ flow });
    const second = headOf(subject.clock.now, { flow });
    await expect(storage.append(request(second, 0))).rejects.toMatchObject({
      code: "conflict",
      details: { deleted: false, singleton: first.runId },
    });
    expect((await storage.read(second.locator)).length).toBe(0);
    await refused(storage.append(request(first, 0)), "conflict");
    await subject.create({ flow, workflow: "mail" });
    await subject.create({ flow: { singleton: "two" } });
    await storage.append(request({ ...first, status: "suspended", wakeAt: null }, 1, null));
    await refused(storage.append(request(second, 0)), "conflict");
    await storage.append(request({ ...first, status: "failed", wakeAt: null }, 2, null));
    await storage.append(request(second, 0));
    await storage.delete(second.locator);
    await subject.create({ flow });
  },

  "limits: a run that goes on after its end is refused while another run has its singleton": async (
    subject,
  ) => {
    const { storage } = subject;
    const flow = { singleton: "one" };
    expect(subject.limits).toBeDefined();
    const first = await subject.create({ flow });
    const goesOn = (head: RunHead, position: number): Promise<void> =>
      storage.append({ ...request(head, position), revives: true });
    await storage.append(request({ ...first, status: "failed", wakeAt: null }, 1, null));
    const second = await subject.create({ flow });
    await expect(goesOn(first, 2)).rejects.toMatchObject({
      code: "conflict",
      details: { deleted: false, singleton: second.runId },
    });
    expect((await storage.read(first.locator)).length).toBe(2);
    await storage.append(request({ ...second, status: "completed", wakeAt: null }, 1, null));
    await goesOn(first, 2);
    await expect(goesOn(first, 2), "it has gone on already").rejects.toMatchObject({
      code: "conflict",
      details: { deleted: false },
    });
    await refused(storage.append(request(headOf(subject.clock.now, { flow }), 0)), "conflict");
    await storage.append(request({ ...first, status: "suspended", wakeAt: null }, 3, null));
    await storage.append(request({ ...first, status: "failed", wakeAt: null }, 4, null));
    await storage.delete(first.locator);
    await subject.create({ flow });
  },

  "limits: a batch after the end, as of a score, is recorded while another run has the singleton": async (
    subject,
  ) => {
    const { storage } = subject;
    expect(subject.limits).toBeDefined();
    const flow = { startAt: subject.clock.now, singleton: "one" };
    const first = await subject.create({ flow });
    const ended = { ...first, status: "completed", wakeAt: null } as const;
    await storage.append(request(ended, 1, null));
    await subject.create({ flow });
    const scored = { ...ended, scores: { helpful: 1 } };
    await storage.append({ ...request(scored, 2), newMarks: true });
    expect((await storage.read(first.locator)).head).toEqual(scored);
  },

  "limits: of a run that begins and one that goes on at the same time, one is recorded": async (subject) => {
    const { storage } = subject;
    expect(subject.limits).toBeDefined();
    const other = await subject.second();
    const flow = { singleton: "x" };
    const ended: RunHead[] = [];
    for (let n = 0; n < 4; n++) {
      const head = await subject.create({ flow });
      await storage.append(request({ ...head, status: "failed", wakeAt: null }, 1, null));
      ended.push(head);
    }
    const appends = ended.flatMap((head) => [
      { ...request(head, 2), revives: true } as const,
      request(headOf(subject.clock.now, { flow }), 0),
    ]);
    const settled = await Promise.allSettled(
      appends.map((append, n) => (n % 3 === 0 ? other : storage).append(append)),
    );
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  },

  "limits: an append changes the flow of a run that has a time": async (subject) => {
    const { storage } = subject;
    expect(subject.limits).toBeDefined();
    const startAt = subject.clock.now + 1_000;
    const head = await subject.create({
      status: "suspended",
      wakeAt: startAt,
      flow: { startAt, singleton: "d" },
    });
    expect((await subject.list()).runs).toEqual([head]);
    const later = { ...head, wakeAt: startAt + 5, flow: { startAt: startAt + 5, singleton: "d" } };
    await storage.append(request(later, 1));
    expect((await storage.read(head.locator)).head).toEqual(later);
    const begun = { ...later, status: "running", flow: { startAt: startAt + 5 } } as const;
    await storage.append(request(begun, 2));
    expect((await subject.list()).runs).toEqual([begun]);
    await subject.create({ flow: { singleton: "d" } });
  },

  "limits: of two singletons at the same time, one is recorded": async (subject) => {
    const { storage } = subject;
    expect(subject.limits).toBeDefined();
    const other = await subject.second();
    const heads = Array.from({ length: 8 }, () => headOf(subject.clock.now, { flow: { singleton: "x" } }));
    const settled = await Promise.allSettled(
      heads.map((head, n) => (n % 2 === 0 ? storage : other).append(request(head, 0))),
    );
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await subject.locators()).toHaveLength(1);
  },
};
