/**
 * `changed`: wakes callers that wait for a journal to grow, and leaves nothing behind. Proven in
 * test/conformance.test.ts.
 */

import { expect } from "vitest";
import { request, type Checks } from "./subject.ts";

/** The state of a promise, after the storage had time to settle it. */
export async function stateOf(work: Promise<unknown>, afterMs = 120): Promise<"settled" | "pending"> {
  let state: "settled" | "pending" = "pending";
  void work.then(() => (state = "settled"));
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  return state;
}

/** A signal that knows how many listeners it has. */
export function countedSignal(): { signal: AbortSignal; abort: () => void; listeners: () => number } {
  const controller = new AbortController();
  const { signal } = controller;
  const listeners = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = ((...args: Parameters<typeof add>) => {
    listeners.add(args[1]);
    add(...args);
  }) as typeof add;
  signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
    listeners.delete(args[1]);
    remove(...args);
  }) as typeof remove;
  return { signal, abort: () => controller.abort(), listeners: () => listeners.size };
}

export const never = (): AbortSignal => new AbortController().signal;

export const changedChecks: Checks = {
  "changed settles when the journal grows, and not before": async (subject) => {
    const changed = subject.optional("changed");
    const head = await subject.createLong(2);
    const other = await subject.create();
    const abort = new AbortController();
    const watch = changed(head.locator, 2, abort.signal);
    const longer = changed(head.locator, 3, abort.signal);
    await subject.storage.append(request(other, 1));
    expect(await stateOf(watch), "another run grew").toBe("pending");
    await subject.storage.append(request(head, 2));
    await watch;
    expect(await stateOf(longer), "it waits for one more").toBe("pending");
    await subject.storage.append(request(head, 3));
    await longer;
  },

  "changed settles at once when the journal is longer already": async (subject) => {
    const changed = subject.optional("changed");
    const head = await subject.createLong(3);
    await changed(head.locator, 2, never());
    await changed(head.locator, 0, never());
  },

  "changed settles when a second handle appends": async (subject) => {
    const changed = subject.optional("changed");
    const second = await subject.second();
    const head = await subject.create();
    for (let length = 1; length <= 5; length++) {
      const watch = changed(head.locator, length, never());
      await second.append(request(head, length));
      await watch;
    }
  },

  "changed may wait for a run that does not exist yet": async (subject) => {
    const changed = subject.optional("changed");
    const head = await subject.create();
    await subject.storage.delete(head.locator);
    const watch = changed(head.locator, 0, never());
    expect(await stateOf(watch)).toBe("pending");
    await subject.storage.append(request(head, 0));
    await watch;
  },

  "changed settles on abort, before and after it began": async (subject) => {
    const changed = subject.optional("changed");
    const head = await subject.create();
    await changed(head.locator, 1, AbortSignal.abort());
    const abort = new AbortController();
    const watch = changed(head.locator, 1, abort.signal);
    expect(await stateOf(watch)).toBe("pending");
    abort.abort();
    await watch;
  },

  "changed wakes many waiting callers, and keeps none of them": async (subject) => {
    const changed = subject.optional("changed");
    const [one, two] = [await subject.create(), await subject.create()];
    const counted = countedSignal();
    const watches = Array.from({ length: 200 }, (_, n) =>
      changed((n % 2 === 0 ? one : two).locator, 1, counted.signal),
    );
    const others = Array.from({ length: 50 }, () => changed(one.locator, 1, never()));
    for (const head of [one, two]) await subject.storage.append(request(head, 1));
    await Promise.all([...watches, ...others]);
    expect(counted.listeners(), "listeners left on the signal").toBe(0);
  },

  "changed releases a caller that aborts and still wakes the others": async (subject) => {
    const changed = subject.optional("changed");
    const head = await subject.create();
    const counted = countedSignal();
    const gone = Array.from({ length: 50 }, () => changed(head.locator, 1, counted.signal));
    const stays = changed(head.locator, 1, never());
    counted.abort();
    await Promise.all(gone);
    expect(await stateOf(stays)).toBe("pending");
    await subject.storage.append(request(head, 1));
    await stays;
  },
};
