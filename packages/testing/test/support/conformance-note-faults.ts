/** Faults in notes of blocked runs, each with the test that must notice it. */

import type { MemoryStorage, RunHead } from "@durable/core";
import type { BlockedNote } from "@durable/core/storage";
import { heads, type Fault, type Planted } from "./conformance-journal-faults.ts";

/** Changes each note on its way in; `null` loses it. */
function written(change: (note: BlockedNote, good: MemoryStorage) => BlockedNote | null): Fault {
  return (good) => ({
    note: async (locator, note) => {
      const changed = change(note, good);
      if (changed !== null) await good.note(locator, changed);
    },
  });
}

/** Does something else, and writes the note again if that made it void. */
async function kept(good: MemoryStorage, locator: string, work: () => Promise<unknown>): Promise<void> {
  const { blocked } = await good.read(locator);
  await work();
  if (blocked !== undefined)
    await good.note(locator, { ...blocked, length: (await good.read(locator)).length });
}

function unblocked({ blocked: _blocked, ...head }: RunHead): RunHead {
  return { ...head, status: head.status === "blocked" ? "running" : head.status };
}

const grows: Fault = (good) => ({
  append: (request) => kept(good, request.locator, () => good.append(request)),
});

export const noteFaults: readonly Planted[] = [
  [
    "a note blocks a run in lists, and does not change its journal",
    "lists no note",
    (good) => ({ list: (query = {}) => heads(good, query, (runs) => runs.map(unblocked)) }),
  ],
  [
    "a note blocks a run in lists, and does not change its journal",
    "lists it under its recorded status, too",
    (good) => ({
      list: async (query = {}) => {
        const page = await good.list(query);
        if (query.status !== "running") return page;
        const { runs } = await good.list({ ...query, status: "blocked" });
        return { ...page, runs: [...page.runs, ...runs] };
      },
    }),
  ],
  [
    "a note blocks a run in lists, and does not change its journal",
    "reads without it",
    (good) => ({
      read: async (locator, from) => {
        const { blocked: _, ...reply } = await good.read(locator, from);
        return reply;
      },
    }),
  ],
  [
    "a note is given back as it was written",
    "rounds its time",
    written((note) => ({ ...note, since: Math.round(note.since) })),
  ],
  [
    "a note is given back as it was written",
    "normalizes its message",
    written((note) => ({ ...note, message: note.message.normalize("NFC") })),
  ],
  [
    "a second note replaces the first",
    "keeps the first",
    (good) => ({
      note: async (locator, note) => {
        if ((await good.read(locator)).blocked === undefined) await good.note(locator, note);
      },
    }),
  ],
  [
    "a note for another length is ignored",
    "takes any",
    (good) => ({
      note: async (locator, note) =>
        good.note(locator, { ...note, length: (await good.read(locator)).length }),
    }),
  ],
  [
    "a note of an unknown run is ignored, and of a deleted one",
    "refuses it",
    (good) => ({
      note: async (locator, note) => {
        if ((await good.read(locator)).length === 0) throw new Error("unknown");
        await good.note(locator, note);
      },
    }),
  ],
  ["a note is gone when a new run has the id (H17)", "remembers it", remembering()],
  ["a note is void when the journal has grown", "keeps it", grows],
  ["a note and an append at the same time: the run is not blocked", "writes it late", late()],
  [
    "a note is void when the run was leased, and the lease returns it",
    "keeps it",
    (good) => ({
      lease: async (locator, owner, ttlMs) => {
        let lease = null;
        await kept(good, locator, async () => (lease = await good.lease(locator, owner, ttlMs)));
        return lease;
      },
    }),
  ],
  [
    "a note is void when the run was leased, and the lease returns it",
    "does not return it",
    (good) => ({
      lease: async (locator, owner, ttlMs) => {
        const lease = await good.lease(locator, owner, ttlMs);
        return lease && { starts: lease.starts, length: lease.length };
      },
    }),
  ],
  [
    "a lease that is refused leaves the note",
    "makes it void first",
    (good) => ({
      lease: async (locator, owner, ttlMs) => {
        await good.lease(locator, "a", 1_000);
        return good.lease(locator, owner, ttlMs);
      },
    }),
  ],
  [
    "a note that the driver writes outlives the end of its lease",
    "makes it void on release",
    (good) => ({
      release: async (locator, owner, quietMs) => {
        await good.lease(locator, owner, 1_000);
        await good.release(locator, owner, quietMs);
      },
    }),
  ],
  [
    "a note that the driver writes outlives the end of its lease",
    "makes it void when the lease is given back",
    (good) => ({
      lease: async (locator, owner, ttlMs) => {
        if (ttlMs === 0) await good.lease(locator, owner, 1_000);
        return good.lease(locator, owner, ttlMs);
      },
    }),
  ],
  ["a note is seen by a second handle, which makes it void", "keeps it to itself", remembering()],
  [
    "blocked runs are due as before, when their quiet has passed",
    "never lists them as due",
    (good) => ({
      list: (query = {}) =>
        heads(good, query, (runs) =>
          runs.filter(({ status }) => query.dueAt === undefined || status !== "blocked"),
        ),
    }),
  ],
  [
    "blocked runs are due as before, when their quiet has passed",
    "lists them at once",
    (good) => ({ release: (locator, owner) => good.release(locator, owner) }),
  ],
  [
    "blocked runs are filtered and paged, newest first",
    "ignores the workflow",
    (good) => ({
      list: ({ workflow, ...query } = {}) =>
        good.list(query.status === "blocked" ? query : { ...query, workflow }),
    }),
  ],
  [
    "blocked runs are filtered and paged, newest first",
    "gives one page",
    (good) => ({
      list: async (query = {}) => ({ ...(await good.list(query)), next: null }),
    }),
  ],
];

/** Keeps notes by the run's name alone, in this handle. */
function remembering(): Fault {
  return (good) => {
    const notes = new Map<string, BlockedNote>();
    return {
      note: (locator, note) => {
        notes.set(locator, note);
        return Promise.resolve();
      },
      read: async (locator, from) => {
        const reply = await good.read(locator, from);
        const blocked = notes.get(locator);
        return blocked?.length === reply.length ? { ...reply, blocked } : reply;
      },
    };
  };
}

/** Looks at the length, and writes a moment later. */
function late(): Fault {
  return (good) => ({
    note: async (locator, note) => {
      const { length } = await good.read(locator);
      if (length !== note.length) return;
      await new Promise((resolve) => setTimeout(resolve, 1));
      await good.note(locator, { ...note, length: (await good.read(locator)).length });
    },
  });
}
