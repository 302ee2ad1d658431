/** Faults in chapters, each with the test that must notice it. */

import { DurableError, type MemoryStorage, type RunHead } from "@durable/core";
import type { ReadReply } from "@durable/core/storage";
import { heads, type Fault, type Planted } from "./conformance-journal-faults.ts";

/** Hides batches instead of dropping them, and checks nothing. */
function hiding(forgets: "on delete" | "never"): Fault {
  return (good) => {
    const first = new Map<string, number>();
    return {
      dropChapters: (locator, before) => {
        first.set(locator, Math.max(before, first.get(locator) ?? 0));
        return Promise.resolve();
      },
      read: async (locator, from = 0) => {
        const start = first.get(locator) ?? 0;
        const reply = await good.read(locator, Math.max(start, from));
        return reply.length > 0 && from < start ? { ...reply, from: start } : reply;
      },
      delete: async (locator) => {
        if (forgets === "on delete") first.delete(locator);
        await good.delete(locator);
      },
    };
  };
}

/** A blob is recorded with the first batch of the run that names it, whatever its chapter. */
const namedOnce: Fault = (good) => {
  const chapters = new Map<string, number>();
  return {
    append: async (request) => {
      const { chapter = 0, ...head } = request.head;
      await good.append({ ...request, head });
      chapters.set(request.locator, chapter);
    },
    readChapter: async (locator) => {
      const from = chapters.get(locator) ?? 0;
      return { ...(await good.read(locator, from)), from };
    },
  };
};

function replied(change: (reply: ReadReply) => ReadReply): Fault {
  return (good) => ({ read: async (locator, from) => change(await good.read(locator, from)) });
}

function listed(change: (head: RunHead) => RunHead): Fault {
  return (good) => ({ list: (query = {}) => heads(good, query, (runs) => runs.map(change)) });
}

/** Takes a new fork, whatever its ancestors still have. */
const takesForks: Fault = (good) => ({
  append: (request) => {
    const { ancestors } = request.head;
    const head = { ...request.head, readsFrom: ancestors.map(() => Number.POSITIVE_INFINITY) };
    return good.append({ ...request, head });
  },
});

const nothingDropped: Fault = () => ({ dropChapters: () => Promise.resolve() });

export const chapterFaults: readonly Planted[] = [
  [
    "readChapter gives the batches from the beginning of the chapter",
    "gives all",
    (good) => ({ readChapter: async (locator) => ({ ...(await good.read(locator)), from: 0 }) }),
  ],
  [
    "readChapter gives the batches from the beginning of the chapter",
    "stays with the first chapter",
    (good) => {
      const first = new Map<string, number>();
      return {
        readChapter: async (locator) => {
          const { from } = await good.readChapter(locator);
          if (from > 0 && !first.has(locator)) first.set(locator, from);
          const start = first.get(locator) ?? 0;
          return { ...(await good.read(locator, start)), from: start };
        },
      };
    },
  ],
  [
    "readChapter gives the batches from the beginning of the chapter",
    "says from where it reads, though nothing was dropped",
    replied((reply) => ({ ...reply, from: 0 })),
  ],
  [
    "readChapter of an unknown run gives nothing, and of a hidden one says so",
    "refuses an unknown run",
    (good) => ({
      readChapter: async (locator) => {
        const reply = await good.readChapter(locator);
        if (reply.length === 0) throw new Error("unknown");
        return reply;
      },
    }),
  ],
  [
    "readChapter of an unknown run gives nothing, and of a hidden one says so",
    "does not say so",
    (good) => ({
      readChapter: async (locator) => {
        const { deleted: _, ...reply } = await good.readChapter(locator);
        return reply;
      },
    }),
  ],
  [
    "list gives the chapter, and from where a fork reads",
    "keeps no chapter",
    listed(({ chapter: _chapter, ...head }) => head),
  ],
  [
    "list gives the chapter, and from where a fork reads",
    "does not keep from where",
    listed(({ readsFrom: _readsFrom, ...head }) => head),
  ],
  ["a chapter is read with every blob that its batches refer to", "names them once per run", namedOnce],
  ["a blob is read with the first batch of each chapter that names it", "names them once per run", namedOnce],
  [
    "a fork names a blob of any chapter that it reads without the body",
    "leaves it to the parent",
    (good) => ({
      append: ({ blobs = [], ...request }) =>
        good.append({ ...request, blobs: blobs.filter(({ body }) => body !== undefined) }),
    }),
  ],
  ["dropChapters removes what is before, and read says where the rest begins", "keeps it", nothingDropped],
  [
    "dropChapters removes what is before, and read says where the rest begins",
    "does not say where",
    replied(({ from: _from, ...reply }) => reply),
  ],
  [
    "dropChapters removes what is before, and read says where the rest begins",
    "drops all that is before the last chapter",
    (good) => ({
      dropChapters: async (locator) => good.dropChapters(locator, (await good.readChapter(locator)).from),
    }),
  ],
  [
    "dropChapters does not move the end of the journal",
    "counts what is left",
    replied((reply) => ({ ...reply, length: reply.batches.length })),
  ],
  [
    "dropChapters twice, of nothing, or of an unknown run does nothing",
    "refuses the second time",
    (good) => {
      const seen = new Set<string>();
      return {
        dropChapters: async (locator, before) => {
          const again = `${locator} ${before}`;
          if (seen.has(again)) throw new Error("dropped already");
          seen.add(again);
          await good.dropChapters(locator, before);
        },
      };
    },
  ],
  [
    "dropChapters leaves note and lease alone",
    "gives the lease back",
    (good) => ({
      dropChapters: async (locator, before) => {
        await good.release(locator, "a");
        await good.dropChapters(locator, before);
      },
    }),
  ],
  [
    "dropChapters leaves note and lease alone",
    "makes the note void",
    (good) => ({
      dropChapters: async (locator, before) => {
        await good.lease(locator, "a", 1_000);
        await good.dropChapters(locator, before);
      },
    }),
  ],
  ["dropChapters refuses a position at which no chapter begins", "takes any", hiding("on delete")],
  ["dropChapters frees the blobs that only dropped batches named", "hides them", hiding("on delete")],
  [
    "dropChapters frees the blobs that only dropped batches named",
    "frees those that are named again",
    (good) => {
      const freed = new Set<string>();
      return {
        dropChapters: async (locator, before) => {
          const [all, rest] = [await good.read(locator), await good.read(locator, before + 1)];
          for (const name of Object.keys(all.blobs ?? {}))
            if (rest.blobs?.[name] === undefined) freed.add(name);
          await good.dropChapters(locator, before);
        },
        read: async (locator, from) => {
          const reply = await good.read(locator, from);
          const blobs = Object.entries(reply.blobs ?? {}).filter(([name]) => !freed.has(name));
          return { ...reply, blobs: Object.fromEntries(blobs) };
        },
      };
    },
  ],
  ["dropChapters is seen by a second handle that knew the run", "keeps it to itself", hiding("on delete")],
  [
    "dropChapters refuses while a fork reads the batches, and changes nothing",
    "asks no fork",
    hiding("on delete"),
  ],
  [
    "dropChapters refuses while a fork reads the batches, and changes nothing",
    "refuses with any fork",
    (good) => ({
      dropChapters: async (locator, before) => {
        const { runs } = await good.list();
        if (runs.some(({ ancestors }) => ancestors.includes(locator)))
          throw new DurableError("conflict", "A fork reads this run.");
        await good.dropChapters(locator, before);
      },
    }),
  ],
  ["a new fork that reads dropped batches is refused", "takes it", takesForks],
  [
    "dropChapters and a fork of what it drops at the same time: one of them is refused",
    "asks no fork",
    hiding("on delete"),
  ],
  [
    "dropChapters and appends at the same time are all done",
    "gives up when the journal moves",
    (good) => ({ dropChapters: (locator, before) => dropUnmoved(good, locator, before) }),
  ],
  [
    "delete removes a run with dropped chapters, and leaves nothing for a new run of the id (H17)",
    "remembers what was dropped",
    hiding("never"),
  ],
];

async function dropUnmoved(good: MemoryStorage, locator: string, before: number): Promise<void> {
  const { length } = await good.read(locator);
  await new Promise((resolve) => setTimeout(resolve, 1));
  if ((await good.read(locator)).length === length) await good.dropChapters(locator, before);
}
