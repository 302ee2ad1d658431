/**
 * A storage that virtual time waits for, because a database answers in real time. Proven in packages/postgres, whose crash
 * tests run on it.
 */

import type { Storage } from "@durable/core";

export interface HeldStorage {
  readonly storage: Storage;
  /** For `virtualWorld`: waits for calls under way, and returns whether there were any. */
  readonly hold: () => Promise<boolean>;
}

/** Members that wait for something to happen: virtual time must pass meanwhile. */
const waiting: ReadonlySet<PropertyKey> = new Set(["changed", "whenDue"]);

export function heldStorage(storage: Storage): HeldStorage {
  const pending = new Set<Promise<unknown>>();
  const hold = async (): Promise<boolean> => {
    if (pending.size === 0) return false;
    await Promise.allSettled(pending);
    return true;
  };
  const note = (reply: unknown): unknown => {
    if (!(reply instanceof Promise)) return reply;
    pending.add(reply);
    const over = (): void => void pending.delete(reply);
    reply.then(over, over);
    return reply;
  };
  const held = new Proxy(storage, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...given: unknown[]): unknown => {
        const reply: unknown = Reflect.apply(member, target, given);
        return waiting.has(name) ? reply : note(reply);
      };
    },
  });
  return { storage: held, hold };
}
