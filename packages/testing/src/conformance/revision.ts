/** `revision`: another text after each change, so that pages read only what may be new. Proven in test/conformance.test.ts. */

import type { Storage } from "@durable/core";
import { expect } from "vitest";
import { request, type Checks, type Subject } from "./subject.ts";

/** Does some work, which has to change the revision of each of these handles. */
async function changes(handles: readonly Storage[], work: () => Promise<unknown>): Promise<void> {
  const tell = (): Promise<string[]> =>
    Promise.all(handles.map(async (one) => (await one.revision?.()) ?? ""));
  const before = await tell();
  await work();
  for (const [i, after] of (await tell()).entries()) expect(after).not.toBe(before[i]);
}

/** What every change of a storage must do to the revision of these handles. */
async function afterAllChanges(subject: Subject, handles: readonly Storage[]): Promise<void> {
  const { storage, clock } = subject;
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
}

export const revisionChecks: Checks = {
  "the text is another one after every change": async (subject) => {
    subject.optional("revision");
    await afterAllChanges(subject, [subject.storage]);
  },

  "the text of a second handle is another one after every change": async (subject) => {
    subject.optional("revision");
    await afterAllChanges(subject, [await subject.second()]);
  },

  "reading does not change the text": async (subject) => {
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
