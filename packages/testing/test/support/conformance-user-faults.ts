/**
 * Twenty mistakes that authors of a storage make, none of them made for a test of the suite. The suite is run as a whole on
 * each.
 */

import type { ListQuery, Storage } from "@durable/core";
import type { Fault } from "./conformance-journal-faults.ts";

const plain = (query: ListQuery = {}): ListQuery => query;

/** What the storage does, and how it differs from a good one. */
export const userFaults: readonly (readonly [what: string, fault: Fault])[] = [
  [
    "checks the position before it waits for the disk, and not again",
    (good) => ({
      append: async (request) => {
        const { length } = await good.read(request.locator);
        if (length !== request.position) return good.append(request);
        await new Promise<void>((resolve) => void setImmediate(resolve));
        const now = await good.read(request.locator);
        return good.append({ ...request, position: now.length });
      },
    }),
  ],
  [
    "accepts a batch again that it has already",
    (good) => ({
      append: async (request) => {
        const { batches } = await good.read(request.locator);
        if (batches[request.position] === request.batch) return;
        return good.append(request);
      },
    }),
  ],
  [
    "trims texts",
    (good) => ({ append: (request) => good.append({ ...request, batch: request.batch.trim() }) }),
  ],
  [
    "normalizes texts",
    (good) => ({ append: (request) => good.append({ ...request, batch: request.batch.normalize("NFC") }) }),
  ],
  [
    "has no column for the label",
    (good) => ({ append: (request) => good.append({ ...request, head: { ...request.head, label: null } }) }),
  ],
  [
    "keeps the time of the first append as the last one",
    (good) => ({
      append: (request) =>
        good.append({ ...request, head: { ...request.head, updatedAt: request.head.createdAt } }),
    }),
  ],
  [
    "forgets the lease that an append takes",
    (good) => ({
      append: (request) => {
        const { lease: _, ...rest } = request;
        return good.append(rest);
      },
    }),
  ],
  [
    "counts what it returns instead of what it has",
    (good) => ({
      read: async (locator, from) => {
        const reply = await good.read(locator, from);
        return { ...reply, length: reply.batches.length };
      },
    }),
  ],
  [
    "reads from the position after",
    (good) => ({ read: (locator, from = 0) => good.read(locator, from === 0 ? 0 : from + 1) }),
  ],
  [
    "leaves blobs out when it reads a chapter",
    (good) => ({
      readChapter: async (locator) => {
        const { blobs: _, ...reply } = await good.readChapter(locator);
        return reply;
      },
    }),
  ],
  [
    "lists the oldest run first",
    (good) => ({
      list: async (query) => {
        const page = await good.list(query);
        return { ...page, runs: page.runs.toReversed() };
      },
    }),
  ],
  [
    "loses the first run of every page but the first",
    (good) => ({
      list: async (query) => {
        const page = await good.list(query);
        return (plain(query).cursor ?? null) === null ? page : { ...page, runs: page.runs.slice(1) };
      },
    }),
  ],
  [
    "lists a run as due a moment too late",
    (good) => ({
      list: async (query) => {
        const page = await good.list(query);
        const { dueAt } = plain(query);
        return dueAt === undefined
          ? page
          : { ...page, runs: page.runs.filter(({ wakeAt }) => wakeAt !== dueAt) };
      },
    }),
  ],
  [
    "lists runs as due that have a driver",
    (good) => ({
      list: async (query) => {
        const { dueAt, ...rest } = plain(query);
        if (dueAt === undefined) return good.list(query);
        const page = await good.list(rest);
        return { ...page, runs: page.runs.filter(({ wakeAt }) => wakeAt !== null && wakeAt <= dueAt) };
      },
    }),
  ],
  [
    "refuses a lease to the owner that has it",
    (good) => {
      const owners = new Map<string, string>();
      return {
        lease: async (locator, owner, ttlMs) => {
          if (owners.get(locator) === owner && ttlMs > 0) return null;
          const lease = await good.lease(locator, owner, ttlMs);
          if (lease !== null) owners.set(locator, owner);
          return lease;
        },
      };
    },
  ],
  [
    "gives a lease of at least a second",
    (good) => ({ lease: (locator, owner, ttlMs) => good.lease(locator, owner, Math.max(ttlMs, 1_000)) }),
  ],
  [
    "lets anyone give a lease back",
    (good) => {
      const owners = new Map<string, string>();
      const lease: Storage["lease"] = async (locator, owner, ttlMs) => {
        const given = await good.lease(locator, owner, ttlMs);
        if (given !== null) owners.set(locator, owner);
        return given;
      };
      return {
        lease,
        release: (locator, owner, quietMs) => good.release(locator, owners.get(locator) ?? owner, quietMs),
      };
    },
  ],
  [
    "releases a run without its quiet time",
    (good) => ({ release: (locator, owner) => good.release(locator, owner, 0) }),
  ],
  [
    "deletes batches that forks read",
    (good) => {
      const deleted = new Set<string>();
      return {
        delete: async (locator) => {
          await good.delete(locator);
          deleted.add(locator);
        },
        read: async (locator, from) =>
          deleted.has(locator) ? { batches: [], length: 0 } : good.read(locator, from),
      };
    },
  ],
  [
    "keeps one body for each name of a blob, whatever its run",
    (good) => {
      const bodies = new Map<string, string>();
      return {
        append: (request) => {
          for (const { name, body } of (request.blobs ?? []) as { name: string; body?: string }[])
            if (body !== undefined && !bodies.has(name)) bodies.set(name, body);
          return good.append(request);
        },
        read: async (locator, from) => {
          const reply = await good.read(locator, from);
          const blobs = Object.keys(reply.blobs ?? {}).map((name) => [name, bodies.get(name) ?? ""]);
          return reply.blobs === undefined ? reply : { ...reply, blobs: Object.fromEntries(blobs) };
        },
      };
    },
  ],
];
