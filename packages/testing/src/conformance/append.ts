/**
 * `append`: a compare-and-swap on the number of batches, all or nothing. Proven in test/conformance.test.ts.
 */

import { expect } from "vitest";
import { expectOneWinner, headOf, refused, request, text, type Checks } from "./subject.ts";

export const appendChecks: Checks = {
  "append creates a run at position 0": async ({ storage, clock }) => {
    const head = headOf(clock.now);
    await storage.append(request(head, 0));
    expect(await storage.read(head.locator)).toMatchObject({ batches: [text(0)], length: 1 });
  },

  "append refuses a wrong position and changes nothing": async (subject) => {
    const { storage } = subject;
    const head = await subject.createLong(3);
    const changed = { ...head, status: "failed", wakeAt: null, steps: 99 } as const;
    for (const position of [0, 1, 2, 4, 5, 100]) {
      await refused(storage.append({ ...request(changed, position), batch: "changed" }), "conflict");
    }
    expect(await storage.read(head.locator)).toMatchObject({
      batches: [text(0), text(1), text(2)],
      length: 3,
    });
    expect((await subject.list()).runs).toEqual([head]);
    await storage.append(request(head, 3));
    expect((await storage.read(head.locator)).length).toBe(4);
  },

  "append beyond the start of an unknown run is refused and creates nothing": async (subject) => {
    const { storage, clock } = subject;
    const head = headOf(clock.now);
    for (const position of [1, 2, 50]) await refused(storage.append(request(head, position)), "conflict");
    expect(await storage.read(head.locator)).toMatchObject({ batches: [], length: 0 });
    expect((await subject.list()).runs).toEqual([]);
    expect(await storage.lease(head.locator, "a", 1_000)).toBeNull();
  },

  "append that is refused leaves the lease alone": async (subject) => {
    const { storage, clock } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 1_000 });
    await refused(storage.append(request(head, 0, null)), "conflict");
    expect(await storage.lease(head.locator, "b", 1_000), "given back").toBeNull();
    await refused(storage.append(request(head, 5, { owner: "b", ttlMs: 9_000 })), "conflict");
    expect(await storage.lease(head.locator, "b", 1_000), "taken").toBeNull();
    await refused(storage.append(request(head, 5, { owner: "a", ttlMs: 9_000 })), "conflict");
    clock.now += 1_000;
    expect(await storage.lease(head.locator, "b", 1_000), "extended").not.toBeNull();
  },

  "append lets exactly one of 64 at the same position win": async (subject) => {
    const { storage, clock } = subject;
    const head = headOf(clock.now);
    for (const position of [0, 1]) {
      const winner = await expectOneWinner(
        Array.from({ length: 64 }, (_, n) =>
          storage.append({ ...request({ ...head, steps: n }, position), batch: `writer ${n}` }),
        ),
      );
      const { batches, length } = await storage.read(head.locator);
      expect([batches[position], length]).toEqual([`writer ${winner}`, position + 1]);
      expect((await subject.list()).runs).toEqual([{ ...head, steps: winner }]);
    }
  },

  "append lets exactly one of two handles win": async (subject) => {
    const { storage } = subject;
    const second = await subject.second();
    const head = headOf(subject.clock.now);
    for (let position = 0; position < 8; position++) {
      const winner = await expectOneWinner(
        Array.from({ length: 16 }, (_, n) =>
          (n % 2 === 0 ? storage : second).append({
            ...request(head, position),
            batch: `${position} by ${n}`,
          }),
        ),
      );
      for (const handle of [storage, second])
        expect(await handle.read(head.locator, position)).toMatchObject({
          batches: [`${position} by ${winner}`],
          length: position + 1,
        });
    }
  },

  "append keeps runs that are written at once apart": async (subject) => {
    const { storage, clock } = subject;
    const heads = Array.from({ length: 40 }, () => headOf(clock.now));
    await Promise.all(
      heads.map(async (head) => {
        for (let position = 0; position < 5; position++)
          await storage.append({ ...request(head, position), batch: `${head.locator} ${position}` });
      }),
    );
    for (const { locator } of heads) {
      const expected = Array.from({ length: 5 }, (_, position) => `${locator} ${position}`);
      expect(await storage.read(locator)).toMatchObject({ batches: expected, length: 5 });
    }
    expect(await subject.locators()).toHaveLength(40);
  },

  "append that is acknowledged is seen by a second handle": async (subject) => {
    const second = await subject.second();
    for (let n = 1; n <= 20; n++) {
      const head = await subject.create();
      expect(await second.read(head.locator)).toMatchObject({ batches: [text(0)], length: 1 });
      expect((await subject.list({}, second)).runs[0]).toEqual(head);
    }
  },
};
