import { MemoryStorage, type Storage } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { describe, expect, it } from "vitest";
import { storageFeatures, type Open } from "../src/conformance/index.ts";
import type { Feature } from "../src/features/feature.ts";
import { features, runFeature } from "../src/features/suite.ts";

/** A storage that has only what the port demands. */
function bare(storage: Storage): Storage {
  return {
    append: (request) => storage.append(request),
    read: (locator, from) => storage.read(locator, from),
    list: (query) => storage.list(query),
    lease: (locator, owner, ttlMs) => storage.lease(locator, owner, ttlMs),
    release: (locator, owner, quietMs) => storage.release(locator, owner, quietMs),
    delete: (locator) => storage.delete(locator),
  };
}

storageFeatures("a storage without optional members", ({ now }) =>
  Promise.resolve({ storage: bare(new MemoryStorage({ now })), close: () => Promise.resolve() }),
);

/** A memory storage with some members replaced. */
function replaced(good: MemoryStorage, fault: Partial<Storage>): Storage {
  return new Proxy<Storage>(good, {
    get: (target, name) => {
      const member: unknown = Object.hasOwn(fault, name)
        ? fault[name as keyof Storage]
        : Reflect.get(target, name, target);
      return typeof member === "function" && name !== "constructor" ? member.bind(target) : member;
    },
  });
}

type Fault = readonly [feature: string, what: string, fault: (good: MemoryStorage) => Partial<Storage>];

const faults: readonly Fault[] = [
  [
    "Schedules",
    "refuses positions beyond an int",
    (good) => ({
      read: (locator, from = 0) =>
        from >= 2 ** 31 - 1
          ? Promise.reject(new Error("out of range for type integer"))
          : good.read(locator, from),
    }),
  ],
  [
    "Schedules",
    "may not write schedules",
    (good) => ({
      schedules: {
        get: (name) => good.schedules.get(name),
        list: (query) => good.schedules.list(query),
        delete: (...given) => good.schedules.delete(...given),
        put: () => Promise.reject(new Error("permission denied for table schedules")),
      },
    }),
  ],
  [
    "Concurrency by key",
    "counts no places",
    (good) => ({
      lease: (locator, owner, ttlMs) => good.lease(locator, owner, ttlMs),
      claim: (request) => good.claim({ ...request, slots: undefined }),
    }),
  ],
  [
    "Rates",
    "forgets what was begun",
    (good) => ({
      limits: {
        slots: () => good.limits.slots(),
        texts: (prefix) => good.limits.texts(prefix),
        read: async (name) => ({ ...(await good.limits.read(name)), value: null }),
        swap: () => Promise.resolve(true),
      },
    }),
  ],
  [
    "Singleton starts",
    "does not look for the other run",
    (good) => ({
      append: (request) => {
        const { flow = {}, ...head } = request.head;
        const { singleton: _, ...kept } = flow;
        return good.append({ ...request, head: { ...head, flow: kept } });
      },
    }),
  ],
  [
    "Priorities",
    "gives due runs in another order",
    (good) => ({
      claim: async (request) =>
        (await good.claim({ ...request, limit: 100 })).toReversed().slice(0, request.limit),
    }),
  ],
  [
    "Tags and search",
    "keeps the first tags",
    (good) => ({
      append: async (request) => {
        const { head: before } = await good.read(request.locator);
        const tags = before?.tags ?? request.head.tags;
        return good.append({ ...request, head: { ...request.head, ...(tags && { tags }) } });
      },
    }),
  ],
  ["Pausing a workflow", "forgets the pause", () => ({ paused: () => Promise.resolve([]) })],
  ["Purging", "deletes nothing", () => ({ deleteUnchanged: () => Promise.resolve([]) })],
  ["Blocked runs in lists", "keeps no note", () => ({ note: () => Promise.resolve() })],
  ["Dropping chapters", "keeps all", () => ({ dropChapters: () => Promise.resolve() })],
  [
    "Forks",
    "forgets deleted runs at once",
    (good) => ({
      read: async (locator, from) => {
        const reply = await good.read(locator, from);
        return reply.deleted === true ? { batches: [], length: 0 } : reply;
      },
    }),
  ],
];

/** The first program of a feature whose promise is not kept; `null` when all are kept. */
async function brokenOf(
  feature: Feature,
  fault: (good: MemoryStorage) => Partial<Storage>,
): Promise<string | null> {
  const open: Open = ({ now }) => {
    const good = new MemoryStorage({ now, timer: (ms, fire) => systemWorld.timer(ms, fire) });
    return Promise.resolve({ storage: replaced(good, fault(good)), close: () => Promise.resolve() });
  };
  for (const [title, program] of Object.entries(feature.programs)) {
    const run = runFeature(feature, { program, applies: "with", open }, () => {});
    const failed = await run.then(
      () => false,
      () => true,
    );
    if (failed) return title;
  }
  return null;
}

describe("the suite finds planted faults", () => {
  it.each(faults)("%s: a storage that %s", async (name, _what, fault) => {
    const feature = features.find((one) => one.name === name);
    if (feature === undefined) throw new Error(`There is no feature ${name}.`);
    expect(await brokenOf(feature, fault)).not.toBeNull();
    expect(await brokenOf(feature, () => ({}))).toBeNull();
  });
});

it("every feature that needs a member of the port says what happens without it", () => {
  for (const { name, needs, without } of features)
    expect([name, without !== undefined]).toEqual([name, needs !== undefined]);
});
