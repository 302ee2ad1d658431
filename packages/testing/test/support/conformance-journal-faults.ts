/** Faults in what is written, read and listed, each with the test that must notice it. */

import type { ListPage, ListQuery, MemoryStorage, RunHead, Storage } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";

/** A storage with one fault: what differs from a good one. */
export type Fault = (good: MemoryStorage) => Partial<Storage>;
/** The test that must notice it, what it does, and how. */
export type Planted = readonly [title: string, what: string, fault: Fault];

/** A page of the good storage, with its runs changed. */
export async function heads(
  good: Storage,
  query: ListQuery,
  change: (runs: readonly RunHead[]) => RunHead[],
): Promise<ListPage> {
  const page = await good.list(query);
  return { ...page, runs: change(page.runs) };
}

function without(query: ListQuery = {}, field: keyof ListQuery): ListQuery {
  return Object.fromEntries(Object.entries(query).filter(([name]) => name !== field));
}

export const journalFaults: readonly Planted[] = [
  [
    "append refuses a wrong position and changes nothing",
    "takes any position",
    (good) => ({
      append: async (request) => {
        const { length } = await good.read(request.locator);
        return good.append({ ...request, position: length });
      },
    }),
  ],
  [
    "append refuses a wrong position and changes nothing",
    "swallows the refusal",
    (good) => ({
      append: (request) => good.append(request).catch(() => {}),
    }),
  ],
  [
    "append refuses a wrong position and changes nothing",
    "refuses without a code",
    (good) => ({
      append: (request) => good.append(request).catch(() => Promise.reject(new Error("no"))),
    }),
  ],
  [
    "append lets exactly one of 64 at the same position win",
    "checks before, and writes later",
    (good) => ({
      append: async (request) => {
        const { length } = await good.read(request.locator);
        if (length !== request.position) return good.append(request);
        // The second write goes where the journal ends by then, as if no check stood in its way.
        for (;;) {
          const now = await good.read(request.locator);
          const isWritten = await good.append({ ...request, position: now.length }).then(
            () => true,
            () => false,
          );
          if (isWritten) return;
        }
      },
    }),
  ],
  [
    "append that is refused leaves the lease alone",
    "gives the lease back first",
    (good) => ({
      append: async (request) => {
        if (request.lease === null) await good.release(request.locator, "a");
        return good.append(request);
      },
    }),
  ],
  [
    "append that is acknowledged is seen by a second handle",
    "acknowledges too early",
    (good) => ({
      append: (request) => {
        setTimeout(() => void good.append(request).catch(() => {}), 5);
        return Promise.resolve();
      },
    }),
  ],
  [
    "read gives batches in order from any position",
    "reads everything",
    (good) => ({
      read: (locator) => good.read(locator),
    }),
  ],
  [
    "read from beyond any number of batches gives the length and the head alone",
    "keeps positions as 32 bits",
    (good) => ({
      read: (locator, from = 0) => good.read(locator, from | 0),
    }),
  ],
  [
    "read gives the head of the latest batch, or none",
    "gives the first head",
    (good) => {
      const first = new Map<string, RunHead>();
      return {
        append: async (request) => {
          await good.append(request);
          if (request.position === 0) first.set(request.locator, request.head);
        },
        read: async (locator, from) => {
          const head = first.get(locator);
          return { ...(await good.read(locator, from)), ...(head && { head }) };
        },
      };
    },
  ],
  [
    "read gives more than a thousand batches",
    "stops at a thousand",
    (good) => ({
      read: async (locator, from) => {
        const { batches, length } = await good.read(locator, from);
        return { batches: batches.slice(0, 1_000), length };
      },
    }),
  ],
  [
    "read gives texts back byte for byte",
    "normalizes",
    (good) => ({
      append: (request) => good.append({ ...request, batch: request.batch.normalize("NFC") }),
    }),
  ],
  [
    "read keeps a NUL character",
    "cuts at NUL",
    (good) => ({
      append: (request) => good.append({ ...request, batch: request.batch.split("\0")[0] as string }),
    }),
  ],
  [
    "list gives the head that was last appended",
    "keeps the first head",
    (good) => ({
      append: keepFirstHead(good),
    }),
  ],
  [
    "list gives the newest run first, whatever was appended since",
    "oldest first",
    (good) => ({
      list: (query = {}) => heads(good, query, (runs) => runs.toReversed()),
    }),
  ],
  ...(["workflow", "status", "parent"] as const).map(
    (field) =>
      [
        "list filters by workflow, status and parent, apart and together",
        `ignores ${field}`,
        (good: MemoryStorage) => ({
          list: (query?: ListQuery) => good.list(without(query, field)),
        }),
      ] as const,
  ),
  [
    "list keeps to the limit",
    "ignores it",
    (good) => ({ list: (query) => good.list(without(query, "limit")) }),
  ],
  [
    "list pages through every run once while others are added",
    "pages by offset",
    (good) => ({
      list: pageByOffset(good),
    }),
  ],
  [
    "list pages on when the run a page ended with has changed or gone",
    "pages by the run's name",
    (good) => ({
      list: pageByName(good),
    }),
  ],
  [
    "due runs come when their time has come, longest due first",
    "takes all",
    (good) => ({
      list: (query = {}) => good.list(query.dueAt === undefined ? query : { ...query, dueAt: Infinity }),
    }),
  ],
  [
    "due runs come when their time has come, longest due first",
    "newest first",
    (good) => ({
      list: (query = {}) => heads(good, query, (runs) => (query.dueAt ? runs.toReversed() : [...runs])),
    }),
  ],
  [
    "due runs of several workflows come in one order",
    "gives one workflow after the other",
    (good) => ({
      list: async (query = {}) => {
        const asked = [query.workflow ?? []].flat();
        const pages = await Promise.all(asked.map((workflow) => good.list({ ...query, workflow })));
        return { runs: pages.flatMap(({ runs }) => runs), next: null };
      },
    }),
  ],
  ...[
    "due runs of several workflows come in one order",
    "list gives the runs of several workflows, newest first",
  ].map((title): Planted => [
    title,
    "takes the first workflow",
    (good) => ({
      list: ({ workflow, ...query } = {}) =>
        good.list({ ...query, workflow: [workflow ?? []].flat().slice(0, 1) }),
    }),
  ]),
  ...[
    "due runs of several workflows come in one order",
    "list gives the runs of several workflows, newest first",
  ].map((title): Planted => [
    title,
    "takes none for all",
    (good) => ({
      list: (query = {}) => good.list(query.workflow?.length === 0 ? without(query, "workflow") : query),
    }),
  ]),
  [
    "list begins at the first page when the cursor is null",
    "takes null for a cursor",
    (good) => ({
      list: (query = {}) => good.list(query.cursor === null ? { ...query, cursor: "0:0" } : query),
    }),
  ],
  [
    "hostile workflow names are data (H65)",
    "compares without case",
    (good) => ({
      list: (query = {}) =>
        heads(good, without(query, "workflow"), (runs) =>
          runs.filter((run) => same(run.workflow, String(query.workflow))),
        ),
    }),
  ],
  [
    "a label of nothing is not the same as none",
    "keeps no empty text",
    (good) => ({
      append: (request) =>
        good.append({ ...request, head: { ...request.head, label: request.head.label || null } }),
    }),
  ],
];

function same(found: string, asked: string | undefined): boolean {
  return asked === undefined || found.toLowerCase() === asked.toLowerCase();
}

function keepFirstHead(good: MemoryStorage): Storage["append"] {
  const known = new Map<string, RunHead>();
  return (request: AppendRequest) => {
    const head = known.get(request.locator) ?? request.head;
    known.set(request.locator, head);
    return good.append({ ...request, head });
  };
}

function pageByOffset(good: MemoryStorage): Storage["list"] {
  return async ({ cursor = "0", limit = 100, ...query } = {}) => {
    const { runs } = await good.list({ ...query, limit: 1_000 });
    const end = Number(cursor) + limit;
    return { runs: runs.slice(Number(cursor), end), next: end < runs.length ? String(end) : null };
  };
}

function pageByName(good: MemoryStorage): Storage["list"] {
  return async ({ cursor, limit = 100, ...query } = {}) => {
    const { runs } = await good.list({ ...query, limit: 1_000 });
    const start = runs.findIndex(({ locator }) => locator === cursor) + 1;
    const page = runs.slice(start, start + limit);
    return { runs: page, next: start + limit < runs.length ? (page.at(-1)?.locator ?? null) : null };
  };
}
