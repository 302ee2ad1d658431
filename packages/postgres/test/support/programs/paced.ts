/**
 * A storage whose speed has no say: its calls are done one after the other, in the order in which they were made, and each takes
 * a millisecond of virtual time. So what happens in the background meets other operations at the same place on every storage.
 */

import type { Storage } from "@durable/core";
import type { VirtualWorld } from "@durable/testing";

/** Members that wait for something to happen, and one that only some storages have: the library does without. */
const left: ReadonlySet<PropertyKey> = new Set(["changed", "whenDue", "giveBackSpace"]);
/** Members that have methods of their own. */
const parts: ReadonlySet<PropertyKey> = new Set(["limits", "schedules"]);

export interface Paced {
  readonly storage: Storage;
  /** For `virtualWorld`: waits for calls under way, and returns whether there were any. */
  readonly hold: () => Promise<boolean>;
}

export function paced(storage: Storage, world: () => VirtualWorld): Paced {
  let last: Promise<unknown> = Promise.resolve();
  let pending = 0;
  const call = async (work: () => unknown): Promise<unknown> => {
    const reply = last.then(work);
    pending += 1;
    last = reply.then(
      () => void (pending -= 1),
      () => void (pending -= 1),
    );
    await new Promise<void>((resolve) => void world().timer(1, resolve));
    return reply;
  };
  const wrap = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (left.has(name)) return undefined;
        if (typeof member !== "function" || name === "constructor")
          return parts.has(name) && member !== undefined ? wrap(member as object) : member;
        return (...given: unknown[]) => call(() => Reflect.apply(member, target, given) as unknown);
      },
    });
  const hold = async (): Promise<boolean> => {
    const any = pending > 0;
    await last;
    return any;
  };
  return { storage: wrap(storage), hold };
}
