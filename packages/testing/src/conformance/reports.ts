/** Reports: kept with the head of a run, and changed only by appends that have one. Proven in test/conformance.test.ts. */

import { expect } from "vitest";
import { headOf, request, type Checks } from "./subject.ts";

export const reportChecks: Checks = {
  "a report is kept with the head, and replaced by the next one": async (subject) => {
    const { storage } = subject;
    const head = await subject.create();
    const shown = async (): Promise<unknown[]> => {
      const listed = (await subject.list()).runs.find(({ locator }) => locator === head.locator);
      return [(await storage.read(head.locator)).head?.report, listed?.report];
    };
    expect(await shown()).toEqual([undefined, undefined]);
    await storage.append({ ...request(head, 1), report: '{"done":1}' });
    expect(await shown()).toEqual(['{"done":1}', '{"done":1}']);
    await storage.append({
      ...request({ ...head, status: "suspended", wakeAt: null }, 2),
      report: '"ü\\u0000"',
    });
    expect(await shown()).toEqual(['"ü\\u0000"', '"ü\\u0000"']);
  },

  "an append without a report leaves it as it is": async (subject) => {
    const { storage } = subject;
    const head = await subject.create();
    await storage.append({ ...request(head, 1), report: "1" });
    await storage.append(request({ ...head, steps: 1 }, 2));
    await storage.append({ ...request({ ...head, steps: 2 }, 3), lease: { owner: "one", ttlMs: 1_000 } });
    await storage.append({ ...request({ ...head, steps: 3 }, 4), lease: { owner: "one", ttlMs: 1_000 } });
    await storage.append(request({ ...head, status: "completed", wakeAt: null, steps: 4 }, 5));
    expect((await subject.list()).runs).toEqual([
      { ...head, status: "completed", wakeAt: null, steps: 4, report: "1" },
    ]);
  },

  "a report may come with the first batch of a run, with blobs and with a chapter": async (subject) => {
    const { storage } = subject;
    const first = await subject.create();
    const locator = `${first.locator.slice(0, -1)}${first.locator.endsWith("a") ? "b" : "a"}`;
    const made = { ...first, locator, runId: `run-${locator}` };
    const blobs = [{ name: "blob-of-a-report", body: '"text"' }];
    await storage.append({ ...request(made, 0), blobs, report: '"begun"' });
    await storage.append({ ...request({ ...made, chapter: 1 }, 1), report: '"next"' });
    expect((await storage.read(locator)).head).toEqual({ ...made, chapter: 1, report: '"next"' });
  },

  "a report may come with a batch that records limits": async (subject) => {
    const { storage } = subject;
    expect(subject.limits).toBeDefined();
    const startAt = subject.clock.now + 1_000;
    const flow = { startAt, slot: "a" };
    const other = await subject.create({ flow: { slot: "b" } });
    const head = headOf(subject.clock.now, { status: "suspended", wakeAt: startAt, flow });
    const next = { ...head, flow: { startAt: startAt + 5, slot: "c" } };
    await storage.append({ ...request(head, 0), report: '"first"' });
    expect((await storage.read(head.locator)).head).toEqual({ ...head, report: '"first"' });
    await Promise.all([
      storage.append({ ...request(next, 1), report: '"second"' }),
      storage.append({ ...request(other, 1), report: '"third"' }),
    ]);
    expect((await storage.read(head.locator)).head).toEqual({ ...next, report: '"second"' });
    expect((await storage.read(other.locator)).head).toEqual({ ...other, report: '"third"' });
    await storage.append(request(next, 2));
    expect((await storage.read(head.locator)).head).toEqual({ ...next, report: '"second"' });
  },

  "a batch that is refused changes no report": async (subject) => {
    const { storage } = subject;
    const head = await subject.create();
    await storage.append({ ...request(head, 1), report: '"right"' });
    await expect(storage.append({ ...request(head, 1), report: '"wrong"' })).rejects.toMatchObject({
      code: "conflict",
    });
    expect((await storage.read(head.locator)).head?.report).toBe('"right"');
  },
};
