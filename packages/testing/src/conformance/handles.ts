/** Handles on a storage: their secret, and how they close. Proven in test/conformance.test.ts. */

import { expect } from "vitest";
import { headOf, refused, request, type Checks } from "./subject.ts";

export const handleChecks: Checks = {
  "secret is long, and always the same": async (subject) => {
    const secret = subject.optional("secret");
    const [first, again] = [await secret(), await secret()];
    expect(first).toBe(again);
    expect(first.length).toBeGreaterThanOrEqual(32);
  },

  "secret is the same for a second handle": async (subject) => {
    const secret = subject.optional("secret");
    const second = await subject.second();
    const [mine, theirs] = await Promise.all([secret(), second.secret?.()]);
    expect(theirs).toBe(mine);
  },

  "close refuses every later call with storage-closed": async (subject) => {
    const close = subject.optional("close");
    const { storage, clock } = subject;
    const head = await subject.create();
    await close();
    await refused(storage.append(request(head, 1)), "storage-closed");
    await refused(storage.append(request(headOf(clock.now), 0)), "storage-closed");
    await refused(storage.read(head.locator), "storage-closed");
    await refused(storage.list(), "storage-closed");
    await refused(storage.list({ dueAt: clock.now }), "storage-closed");
    await refused(storage.lease(head.locator, "a", 1_000), "storage-closed");
    await refused(storage.release(head.locator, "a"), "storage-closed");
    await refused(storage.delete(head.locator), "storage-closed");
    const note = { code: "blocked", message: "", since: 0, length: 1 };
    for (const late of [
      storage.note?.(head.locator, note),
      storage.readChapter?.(head.locator),
      storage.dropChapters?.(head.locator, 1),
    ])
      if (late !== undefined) await refused(late, "storage-closed");
    const { schedules } = storage;
    const schedule = { name: "daily", workflow: "loan", dueAt: 1, version: "1", text: "" };
    for (const late of [
      schedules?.get("daily"),
      schedules?.list(),
      schedules?.put(schedule, null),
      schedules?.delete("daily", "1"),
    ])
      if (late !== undefined) await refused(late, "storage-closed");
    const changed = storage.changed?.(head.locator, 1, new AbortController().signal);
    if (changed !== undefined) await refused(changed, "storage-closed");
    const whenDue = storage.whenDue?.(["loan"], new AbortController().signal);
    if (whenDue !== undefined) await refused(whenDue, "storage-closed");
    const claim = storage.claim?.({ workflow: ["loan"], dueAt: clock.now, limit: 1, quietMs: 1 });
    if (claim !== undefined) await refused(claim, "storage-closed");
    const secret = storage.secret?.();
    if (secret !== undefined) await refused(secret, "storage-closed");
  },

  "close twice is harmless": async (subject) => {
    const close = subject.optional("close");
    await Promise.all([close(), close()]);
    await close();
  },

  "close waits for the writes that are under way": async (subject) => {
    const close = subject.optional("close");
    const { storage, clock } = subject;
    const second = await subject.second();
    const heads = Array.from({ length: 30 }, () => headOf(clock.now));
    const appends = heads.map((head) => storage.append(request(head, 0)));
    await Promise.all([...appends, close()]);
    for (const { locator } of heads) expect((await second.read(locator)).length).toBe(1);
  },

  "close releases callers that wait for a change": async (subject) => {
    const changed = subject.optional("changed");
    const close = subject.optional("close");
    const head = await subject.create();
    const watches = [1, 1, 5].map((length) =>
      changed(head.locator, length, new AbortController().signal).catch(() => {}),
    );
    await close();
    await Promise.all(watches);
  },

  "close leaves other handles open": async (subject) => {
    const second = await subject.second();
    const close = subject.optional("close");
    const head = await subject.create();
    await close();
    await second.append(request(head, 1));
    expect((await second.read(head.locator)).length).toBe(2);
  },
};
