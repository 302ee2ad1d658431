/**
 * `whenDue`: wakes workers that wait for due runs, and leaves nothing behind. It may wake a worker too early,
 * but not while none of its workflows has a run that could be due. Proven in test/conformance.test.ts.
 */

import { countedSignal, never, stateOf } from "./changed.ts";
import { expect } from "vitest";
import { request, type Checks } from "./subject.ts";

const loan = ["loan"];

const waking: Checks = {
  "whenDue waits while no run of its workflows is due": async (subject) => {
    const whenDue = subject.optional("whenDue");
    const abort = new AbortController();
    await subject.create({ workflow: "deploy" });
    await subject.create({ status: "suspended", wakeAt: subject.clock.now + 10 ** 6 });
    await subject.create({}, { owner: "a", ttlMs: 10 ** 6 });
    const watch = whenDue(loan, abort.signal);
    expect(await stateOf(watch)).toBe("pending");
    await subject.create({ workflow: "deploy" });
    expect(await stateOf(watch), "another workflow has work").toBe("pending");
    await subject.create();
    await watch;
    abort.abort();
  },

  "whenDue settles at once when a run is due already": async (subject) => {
    const whenDue = subject.optional("whenDue");
    await subject.create({ workflow: "deploy", status: "suspended" });
    await whenDue(["loan", "deploy"], never());
  },

  "whenDue settles when a run is answered": async (subject) => {
    const whenDue = subject.optional("whenDue");
    const head = await subject.create({ status: "suspended", wakeAt: null });
    const watch = whenDue(loan, never());
    expect(await stateOf(watch)).toBe("pending");
    await subject.storage.append(request({ ...head, status: "running", wakeAt: subject.clock.now }, 1));
    await watch;
  },

  "whenDue settles when a lease is released, given back, or ends with an append": async (subject) => {
    const whenDue = subject.optional("whenDue");
    const { storage } = subject;
    const head = await subject.create();
    let position = 1;
    for (const end of [
      () => storage.release(head.locator, "a"),
      () => storage.lease(head.locator, "a", 0),
      () => storage.append(request(head, position++, null)),
    ]) {
      await storage.lease(head.locator, "a", 10 ** 6);
      const watch = whenDue(loan, never());
      expect(await stateOf(watch, 20)).toBe("pending");
      await end();
      await watch;
    }
  },

  "whenDue settles when the time of a run has come": async (subject) => {
    const whenDue = subject.optional("whenDue");
    const { storage, clock } = subject;
    const wait = { status: "suspended", wakeAt: clock.now + 10 ** 6 } as const;
    const [head] = [await subject.create(wait), await subject.create(wait)];
    const wakeAt = clock.now + 200;
    const watch = whenDue(loan, never());
    await storage.append(request({ ...head, status: "suspended", wakeAt }, 1, null));
    expect(await stateOf(watch, 20)).toBe("pending");
    clock.now = wakeAt;
    await watch;
    await storage.append(request({ ...head, status: "completed", wakeAt: null }, 2, null));
    const again = await subject.create({ status: "suspended", wakeAt: clock.now + 200 });
    const later = whenDue(loan, never());
    clock.now = Number(again.wakeAt);
    await later;
  },

  "whenDue settles when a lease or a quiet time ends": async (subject) => {
    const whenDue = subject.optional("whenDue");
    const { storage, clock } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 200 });
    const lease = whenDue(loan, never());
    expect(await stateOf(lease, 20)).toBe("pending");
    clock.now += 200;
    await lease;
    await storage.lease(head.locator, "a", 10 ** 6);
    await storage.release(head.locator, "a", 200);
    const quiet = whenDue(loan, never());
    expect(await stateOf(quiet, 20)).toBe("pending");
    clock.now += 200;
    await quiet;
  },

  "whenDue settles when a claim ends without a driver": async (subject) => {
    const whenDue = subject.optional("whenDue");
    const claim = subject.optional("claim");
    const { clock } = subject;
    await subject.create();
    await claim({ workflow: loan, dueAt: clock.now, limit: 1, quietMs: 200 });
    const watch = whenDue(loan, never());
    expect(await stateOf(watch, 20)).toBe("pending");
    clock.now += 200;
    await watch;
  },

  "whenDue settles when a second handle appends": async (subject) => {
    const whenDue = subject.optional("whenDue");
    const second = await subject.second();
    for (let n = 0; n < 3; n++) {
      const head = await subject.create({ status: "suspended", wakeAt: null });
      const watch = whenDue(loan, never());
      await second.append(request({ ...head, status: "running", wakeAt: 0 }, 1));
      await watch;
      await second.append(request({ ...head, status: "completed", wakeAt: null }, 2));
    }
  },
};

const leaving: Checks = {
  "whenDue settles on abort, before and after it began": async (subject) => {
    const whenDue = subject.optional("whenDue");
    await whenDue(loan, AbortSignal.abort());
    const abort = new AbortController();
    const watch = whenDue(loan, abort.signal);
    expect(await stateOf(watch)).toBe("pending");
    abort.abort();
    await watch;
  },

  "whenDue wakes many waiting workers, and keeps none of them": async (subject) => {
    const whenDue = subject.optional("whenDue");
    const counted = countedSignal();
    const watches = Array.from({ length: 50 }, (_, n) =>
      whenDue(n % 2 === 0 ? loan : ["deploy", "loan"], counted.signal),
    );
    await subject.create();
    await Promise.all(watches);
    expect(counted.listeners(), "listeners left on the signal").toBe(0);
  },

  "whenDue releases a worker that aborts and still wakes the others": async (subject) => {
    const whenDue = subject.optional("whenDue");
    const counted = countedSignal();
    const gone = Array.from({ length: 20 }, () => whenDue(loan, counted.signal));
    const stays = whenDue(loan, never());
    counted.abort();
    await Promise.all(gone);
    expect(await stateOf(stays)).toBe("pending");
    await subject.create();
    await stays;
  },

  "close releases workers that wait for a due run": async (subject) => {
    const whenDue = subject.optional("whenDue");
    const close = subject.optional("close");
    const watches = [loan, ["deploy"]].map((workflow) => whenDue(workflow, never()).catch(() => {}));
    await close();
    await Promise.all(watches);
  },
};

export const whenDueChecks: Checks = { ...waking, ...leaving };
