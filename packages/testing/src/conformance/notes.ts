/**
 * `note`: why a run is blocked, kept beside its head until the run moves or is leased. Proven in
 * test/conformance.test.ts.
 */

import type { RunHead } from "@durable/core";
import type { BlockedNote } from "@durable/core/storage";
import { expect } from "vitest";
import { request, type Checks, type Subject } from "./subject.ts";

function noteOf(length: number, changes: Partial<BlockedNote> = {}): BlockedNote {
  return { code: "diverged", message: "Step pay is gone.", since: 1_800_000_000_000.5, length, ...changes };
}

/** A new run of one batch with a note, as lists show it. */
async function createBlocked(subject: Subject, changes: Partial<RunHead> = {}): Promise<RunHead> {
  const head = await subject.create(changes);
  const blocked = noteOf(1);
  await subject.optional("note")(head.locator, blocked);
  return { ...head, status: "blocked", blocked };
}

async function expectVoid(subject: Subject, { locator, status }: RunHead): Promise<void> {
  const [listed] = (await subject.list()).runs.filter((run) => run.locator === locator);
  expect(listed?.status).toBe(status);
  expect(listed?.blocked).toBeUndefined();
  expect(await subject.locators({ status: "blocked" })).toEqual([]);
  expect(await subject.locators({ status })).toContain(locator);
  expect((await subject.storage.read(locator)).blocked).toBeUndefined();
}

const kept: Checks = {
  "a note blocks a run in lists, and does not change its journal": async (subject) => {
    const note = subject.optional("note");
    const { storage } = subject;
    const other = await subject.create();
    const head = await subject.createLong(3);
    await note(head.locator, noteOf(3));
    const blocked = { ...head, status: "blocked", blocked: noteOf(3) };
    expect((await subject.list()).runs).toEqual([blocked, other]);
    expect((await subject.list({ status: "blocked" })).runs).toEqual([blocked]);
    expect((await subject.list({ status: "running" })).runs, "not under its recorded status").toEqual([
      other,
    ]);
    const read = await storage.read(head.locator, 2);
    expect([read.batches.length, read.length, read.blocked]).toEqual([1, 3, noteOf(3)]);
    expect((await storage.read(other.locator)).blocked).toBeUndefined();
  },

  "a note is given back as it was written": async (subject) => {
    const note = subject.optional("note");
    const { locator } = await subject.create();
    const message = "line\nfeed \"quoted\" 'single' \\ %s ? é e\u0301 日本語 🧑‍🚀 \u2028 \u0001";
    const written = noteOf(1, { code: "a code'; --", message, since: 0.125 });
    await note(locator, written);
    expect((await subject.storage.read(locator)).blocked).toEqual(written);
    expect((await subject.list()).runs[0]?.blocked).toEqual(written);
  },

  "a second note replaces the first": async (subject) => {
    const note = subject.optional("note");
    const { locator } = await createBlocked(subject);
    await note(locator, noteOf(1, { code: "newer-format", since: 7 }));
    expect((await subject.storage.read(locator)).blocked).toEqual(
      noteOf(1, { code: "newer-format", since: 7 }),
    );
    expect(await subject.locators({ status: "blocked" })).toEqual([locator]);
  },

  "a note for another length is ignored": async (subject) => {
    const note = subject.optional("note");
    const head = await subject.createLong(2);
    for (const length of [0, 1, 3]) await note(head.locator, noteOf(length));
    await expectVoid(subject, head);
    const blocked = await createBlocked(subject);
    await note(blocked.locator, noteOf(2, { code: "late" }));
    expect((await subject.storage.read(blocked.locator)).blocked, "the one before stays").toEqual(noteOf(1));
  },

  "a note of an unknown run is ignored, and of a deleted one": async (subject) => {
    const note = subject.optional("note");
    const { storage } = subject;
    await note("nobodynobodynobody", noteOf(0));
    const gone = await subject.create();
    const hidden = await createBlocked(subject);
    const fork = await subject.create({ parent: hidden.runId, ancestors: [hidden.locator] });
    for (const { locator } of [gone, hidden]) await storage.delete(locator);
    await note(gone.locator, noteOf(1));
    await note(hidden.locator, noteOf(1));
    expect((await subject.list()).runs).toEqual([fork]);
    expect(await subject.locators({ status: "blocked" })).toEqual([]);
    expect((await storage.read(hidden.locator)).blocked).toBeUndefined();
  },

  "a note is gone when a new run has the id (H17)": async (subject) => {
    const { storage, clock } = subject;
    const old = await createBlocked(subject);
    await storage.delete(old.locator);
    const { blocked: _, ...rest } = old;
    const fresh = { ...rest, status: "running", createdAt: (clock.now += 1) } as const;
    await storage.append(request(fresh, 0));
    await expectVoid(subject, fresh);
    expect(await storage.lease(fresh.locator, "a", 1_000)).toEqual({ starts: 1, length: 1 });
  },
};

const voided: Checks = {
  "a note is void when the journal has grown": async (subject) => {
    const { storage } = subject;
    for (const lease of [undefined, null, { owner: "a", ttlMs: 1_000 }]) {
      const head = await subject.create();
      await subject.optional("note")(head.locator, noteOf(1));
      await storage.append(request(head, 1, lease));
      await expectVoid(subject, head);
    }
  },

  "a note is void when the run was leased, and the lease returns it": async (subject) => {
    const { storage, clock } = subject;
    const note = subject.optional("note");
    const head = await subject.create();
    const end = {
      release: () => storage.release(head.locator, "a"),
      "give back": () => storage.lease(head.locator, "a", 0),
      expiry: () => Promise.resolve((clock.now += 1_000)),
    };
    for (const [how, finish] of Object.entries(end)) {
      await note(head.locator, noteOf(1));
      expect((await storage.lease(head.locator, "a", 1_000))?.blocked, `ended by ${how}`).toEqual(noteOf(1));
      expect((await storage.lease(head.locator, "a", 1_000))?.blocked, "only once").toBeUndefined();
      await expectVoid(subject, head);
      await finish();
      await expectVoid(subject, head);
      expect((await storage.lease(head.locator, "b", 1_000))?.blocked).toBeUndefined();
      await storage.release(head.locator, "b");
    }
  },

  "a lease that is refused leaves the note": async (subject) => {
    const { storage } = subject;
    const head = await subject.create({}, { owner: "a", ttlMs: 1_000 });
    await subject.optional("note")(head.locator, noteOf(1));
    expect(await storage.lease(head.locator, "b", 1_000)).toBeNull();
    expect((await storage.read(head.locator)).blocked).toEqual(noteOf(1));
  },

  "a note that the driver writes outlives the end of its lease": async (subject) => {
    const { storage } = subject;
    const note = subject.optional("note");
    const head = await subject.create();
    for (const finish of [
      () => storage.release(head.locator, "a", 5_000),
      () => storage.lease(head.locator, "a", 0),
    ]) {
      await storage.lease(head.locator, "a", 1_000);
      await note(head.locator, noteOf(1));
      await finish();
      expect((await storage.read(head.locator)).blocked).toEqual(noteOf(1));
      expect(await subject.locators({ status: "blocked" })).toEqual([head.locator]);
    }
  },

  "a note and an append at the same time: the run is not blocked": async (subject) => {
    const note = subject.optional("note");
    const second = await subject.second();
    for (let n = 0; n < 12; n++) {
      const head = await subject.create();
      await Promise.all([
        note(head.locator, noteOf(1)),
        second.append(request(head, 1)),
        second.note?.(head.locator, noteOf(1)),
      ]);
      await expectVoid(subject, head);
    }
  },

  "a note is seen by a second handle, which makes it void": async (subject) => {
    const second = await subject.second();
    const head = await createBlocked(subject);
    expect((await second.read(head.locator)).blocked).toEqual(noteOf(1));
    expect((await subject.list({ status: "blocked" }, second)).runs).toEqual([head]);
    expect(await second.lease(head.locator, "a", 1_000)).toMatchObject({ blocked: noteOf(1) });
    await expectVoid(subject, { ...head, status: "running" });
  },
};

const listed: Checks = {
  "blocked runs are due as before, when their quiet has passed": async (subject) => {
    const { storage, clock } = subject;
    const note = subject.optional("note");
    const head = await subject.create({}, { owner: "a", ttlMs: 60_000 });
    const asleep = await createBlocked(subject, { status: "suspended", wakeAt: clock.now + 9_000 });
    await note(head.locator, noteOf(1));
    await storage.release(head.locator, "a", 5_000);
    clock.now += 4_000;
    expect(await subject.due()).toEqual([]);
    clock.now += 1_000;
    const blocked = { ...head, status: "blocked", blocked: noteOf(1) };
    expect((await subject.list({ dueAt: clock.now })).runs).toEqual([blocked]);
    clock.now += 5_000;
    expect(await subject.due()).toEqual([head.locator, asleep.locator]);
    expect(await subject.due({ status: "blocked" })).toEqual([head.locator, asleep.locator]);
    for (const status of ["running", "suspended"] as const) expect(await subject.due({ status })).toEqual([]);
    await storage.lease(asleep.locator, "a", 1_000);
    await storage.release(asleep.locator, "a");
    expect(await subject.due({ status: "suspended" }), "not blocked any more").toEqual([asleep.locator]);
  },

  "blocked runs are filtered and paged, newest first": async (subject) => {
    const made: RunHead[] = [];
    const statuses = ["running", "suspended"] as const;
    for (let n = 0; n < 12; n++) {
      const workflow = n % 3 === 0 ? "deploy" : "loan";
      made.unshift(
        await createBlocked(subject, {
          workflow,
          status: statuses[n % 2] ?? "running",
          parent: n < 6 ? "run-parent" : null,
        }),
      );
      await subject.create({ workflow });
    }
    const found = await subject.pages({ status: "blocked", limit: 5 }, async () => {
      await subject.create();
    });
    expect(found).toEqual(made);
    const loans = made.filter(({ workflow }) => workflow === "loan");
    expect((await subject.list({ status: "blocked", workflow: "loan" })).runs).toEqual(loans);
    expect((await subject.list({ status: "blocked", workflow: "loan", parent: "run-parent" })).runs).toEqual(
      loans.filter(({ parent }) => parent !== null),
    );
    expect(await subject.locators({ status: "suspended" })).toEqual([]);
  },
};

export const noteChecks: Checks = { ...kept, ...voided, ...listed };
