/** Faults in blobs, each with the test that must notice it. */

import type { MemoryStorage } from "@durable/core";
import type { AppendRequest, NamedBlob, ReadReply } from "@durable/core/storage";
import type { Fault, Planted } from "./conformance-journal-faults.ts";

/** Changes each blob on its way in. */
function changed(change: (blob: NamedBlob) => NamedBlob | null): Fault {
  return (good) => ({
    append: ({ blobs = [], ...request }) =>
      good.append({ ...request, blobs: blobs.map(change).filter((blob) => blob !== null) }),
  });
}

function bodied(change: (body: string) => string): Fault {
  return changed(({ name, body }) => (body === undefined ? { name } : { name, body: change(body) }));
}

/** Changes each reply on its way out. */
function replied(change: (reply: ReadReply, whole: ReadReply) => ReadReply): Fault {
  return (good) => ({
    read: async (locator, from) => change(await good.read(locator, from), await good.read(locator)),
  });
}

function without(whole: ReadReply): ReadReply {
  const { blobs: _, ...reply } = whole;
  return reply;
}

/** A hidden run names every blob, and is never deleted. */
async function keep(good: MemoryStorage, { blobs = [], head }: AppendRequest): Promise<void> {
  const locator = `hoard-${Math.random()}`;
  const hoard = { ...head, locator, wakeAt: null, ancestors: [] };
  await good.append({ locator, position: 0, batch: "", blobs, head: hoard });
}

/** Writes the blobs of a request before it is known whether the append succeeds. */
const blobsFirst: Fault = (good) => ({
  append: async (request) => {
    await keep(good, request);
    await good.append(request);
  },
});

export const blobFaults: readonly Planted[] = [
  [
    "a blob is read with the batch that was the first to name it",
    "gives every blob of the run",
    replied((reply, whole) => ({ ...without(reply), ...(whole.blobs && { blobs: whole.blobs }) })),
  ],
  ["a blob is read with the batch that was the first to name it", "gives none", replied(without)],
  [
    "a blob is kept once: a second body under its name is ignored",
    "takes the second",
    (good) => {
      const last = new Map<string, string>();
      return {
        append: async (request) => {
          await good.append(request);
          for (const { name, body } of request.blobs ?? []) if (body !== undefined) last.set(name, body);
        },
        read: async (locator, from) => {
          const reply = await good.read(locator, from);
          const blobs = Object.entries(reply.blobs ?? {}).map(([name, body]) => [
            name,
            last.get(name) ?? body,
          ]);
          return { ...reply, blobs: Object.fromEntries(blobs) as Record<string, string> };
        },
      };
    },
  ],
  [
    "a blob without a body that is not there is refused, and nothing is written",
    "takes it",
    changed((blob) => (blob.body === undefined ? null : blob)),
  ],
  [
    "a blob without a body that is not there is refused, and nothing is written",
    "writes the others first",
    (good) => ({
      append: async (request) => {
        const blobs = (request.blobs ?? []).filter(({ body }) => body !== undefined);
        await keep(good, { ...request, blobs });
        await good.append(request);
      },
    }),
  ],
  ["an append that is refused with conflict writes no blob and names none", "writes blobs first", blobsFirst],
  [
    "an append to a journal that has moved is a conflict, whatever it names",
    "looks at the blobs first",
    blobsFirst,
  ],
  ["of 32 appends at one position, only the winner's blob is kept", "writes blobs first", blobsFirst],
  [
    "delete keeps a blob that another run names, and frees it with the last",
    "frees it with the first",
    (good) => {
      const freed = new Set<string>();
      return {
        delete: async (locator) => {
          for (const name of Object.keys((await good.read(locator)).blobs ?? {})) freed.add(name);
          await good.delete(locator);
        },
        read: async (locator, from) => {
          const reply = await good.read(locator, from);
          const blobs = Object.entries(reply.blobs ?? {}).filter(([name]) => !freed.has(name));
          return { ...reply, blobs: Object.fromEntries(blobs) };
        },
      };
    },
  ],
  ...[
    "delete keeps a blob that another run names, and frees it with the last",
    "many runs that name a blob at once share it until the last has gone",
    "delete of a fork keeps the blobs of its parent",
    "a blob that is named twice in one append is one",
  ].map((title): Planted => [
    title,
    "never frees",
    (good) => ({
      append: async (request) => {
        await good.append(request);
        if (request.blobs !== undefined) await keep(good, request);
      },
    }),
  ]),
  [
    "delete keeps the blobs of a hidden run while a fork reads it",
    "gives none of a hidden run",
    replied((reply) => (reply.deleted === true ? without(reply) : reply)),
  ],
  [
    "delete leaves no blob behind for a new run of the same id (H17)",
    "remembers the names",
    (good) => {
      const names = new Map<string, ReadReply["blobs"]>();
      return {
        delete: async (locator) => {
          names.set(locator, (await good.read(locator)).blobs);
          await good.delete(locator);
        },
        read: async (locator, from) => {
          const reply = await good.read(locator, from);
          return { ...reply, blobs: { ...names.get(locator), ...reply.blobs } };
        },
      };
    },
  ],
  [
    "a fork names a blob of its parent without the body",
    "leaves it to the parent",
    changed((blob) => (blob.body === undefined ? null : blob)),
  ],
  ["a blob is given back byte for byte", "normalizes", bodied((body) => body.normalize("NFC"))],
  ["a blob is given back byte for byte", "trims", bodied((body) => body.trim())],
  [
    "a blob is given back byte for byte",
    "takes an empty body for none",
    changed((blob) => (blob.body === "" ? { name: blob.name } : blob)),
  ],
  [
    "hostile blob names are data (H65)",
    "compares without case",
    changed((blob) => ({ ...blob, name: blob.name.toLowerCase() })),
  ],
  [
    "hostile blob names are data (H65)",
    "fills an object by assignment",
    replied((reply) => {
      const blobs: Record<string, string> = {};
      for (const [name, body] of Object.entries(reply.blobs ?? {})) blobs[name] = body;
      return { ...reply, blobs };
    }),
  ],
  [
    "a blob keeps a NUL character, in its name and its body",
    "cuts at NUL",
    bodied((body) => body.split("\0")[0] as string),
  ],
  [
    "a blob with half of a surrogate pair is kept as it is, or refused",
    "puts another character there",
    bodied((body) => body.toWellFormed()),
  ],
  [
    "2,000 blobs in one append, and all of them again without their bodies",
    "takes a thousand",
    (good) => ({
      append: (request) => good.append({ ...request, blobs: (request.blobs ?? []).slice(0, 1_000) }),
    }),
  ],
];
