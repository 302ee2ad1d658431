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

/** Members that have methods of their own. */
const parts: ReadonlySet<PropertyKey> = new Set(["limits", "schedules"]);

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
  const heldBy = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        // Messages name the class of a storage.
        if (typeof member !== "function" || name === "constructor")
          return parts.has(name) && member !== undefined ? heldBy(member as object) : member;
        return (...given: unknown[]): unknown => {
          const reply: unknown = Reflect.apply(member, target, given);
          return waiting.has(name) ? reply : note(reply);
        };
      },
    });
  return { storage: heldBy(storage), hold };
}
