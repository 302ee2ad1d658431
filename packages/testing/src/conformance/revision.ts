/** `revision`: another text after each change, so that pages read only what may be new. Proven in test/conformance.test.ts. */

import type { Storage } from "@durable/core";
import { expect } from "vitest";
import { request, type Checks, type Subject } from "./subject.ts";

/** Does some work, which has to change the revision that each of these handles tells. */
async function changes(handles: readonly Storage[], work: () => Promise<unknown>): Promise<void> {
  const tell = (): Promise<string[]> =>
    Promise.all(handles.map(async (one) => (await one.revision?.()) ?? ""));
  const before = await tell();
  await work();
  for (const [i, after] of (await tell()).entries()) expect(after).not.toBe(before[i]);
}

async function handlesOf(subject: Subject): Promise<Storage[]> {
  const { storage } = subject;
  subject.optional("revision");
  return storage.limits === undefined ? [storage] : [storage, await subject.second()];
}

export const revisionChecks: Checks = {
  "every change is told, also to a second handle": async (subject) => {
    const { storage, clock } = subject;
    const handles = await handlesOf(subject);
    const head = await subject.create();
    await changes(handles, () => subject.create());
    await changes(handles, () => storage.append(request(head, 1)));
    await changes(handles, () => storage.lease(head.locator, "a", 1_000));
    await changes(handles, () => storage.release(head.locator, "a"));
    const note = { code: "diverged", message: "Step pay is gone.", since: clock.now, length: 2 };
    await changes(handles, () => subject.optional("note")(head.locator, note));
    const pause = { workflow: "loan", reason: null, since: clock.now };
    await changes(handles, () => subject.optional("pause")("loan", pause));
    await changes(handles, () => subject.optional("pause")("loan", null));
    await changes(handles, () => subject.limits.swap("text", null, "one", 1_000));
    await changes(handles, () => storage.delete(head.locator));
  },

  "what only reads changes nothing that this handle tells": async (subject) => {
    const revision = subject.optional("revision");
    const head = await subject.create();
    // Another process on the same server may have written meanwhile.
    const quiet = async (): Promise<boolean> => {
      const before = await revision();
      await subject.storage.read(head.locator);
      await subject.list();
      return (await revision()) === before;
    };
    let isQuiet = await quiet();
    for (let tries = 0; tries < 50 && !isQuiet; tries++) isQuiet = await quiet();
    expect(isQuiet).toBe(true);
  },
};
