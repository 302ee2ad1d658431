/**
 * The contract of `Bucket` as tests, and that of `RemoteStorage` on such a bucket. Proven in
 * packages/core/test/adapters/remote/conformance.test.ts.
 */

import type { World } from "@durable/core";
import { RemoteStorage, type Bucket } from "@durable/core/remote";
import { systemWorld } from "@durable/core/storage";
import { describe, expect, it } from "vitest";
import { faultyBucket, type BucketFault, type FaultyBucket } from "../buckets.ts";
import { seeded } from "../random.ts";
import { storageFeatures } from "../features/suite.ts";
import { checks } from "./checks.ts";
import { storageConformance } from "./suite.ts";

/** A bucket for one test. */
export interface BucketHandle {
  readonly bucket: Bucket;
  /** Removes what the test has written. */
  close(): Promise<void>;
}

/** Opens a fresh, empty bucket. */
export type OpenBucket = () => Promise<BucketHandle>;

/** Options of the tests of buckets. */
export interface BucketConformanceOptions {
  /** Lets requests go wrong, in these ways or in all; none by default. */
  readonly faults?: readonly BucketFault[] | "all" | undefined;
  /** Leaves out tests with hundreds of objects, for buckets behind a network. */
  readonly brief?: boolean | undefined;
  /** Runs one test of the storage contract in this many; all by default. */
  readonly sample?: number | undefined;
}

const brevity = "it writes hundreds of objects, and this is the brief form";

const long = [
  "append lets exactly one of 64 at the same position win",
  "append keeps runs that are written at once apart",
  "append that is acknowledged is seen by a second handle",
  "read gives more than a thousand batches",
  "list filters by workflow, status and parent, apart and together",
  "list pages through every run once while others are added",
  "list pages on when the run a page ended with has changed or gone",
  "due runs are paged, also when those of the page before were taken",
  "delete frees a chain of forks from its end",
  "delete and an append that names the same blob at once: named and there, or refused",
  "many runs that name a blob at once share it until the last has gone",
  "a blob of 32 MiB, in bytes and in characters",
  "hostile blob names are data (H65)",
  "hostile workflow names are data (H65)",
  "hostile parents are data (H65)",
  "hostile run ids and labels are data (H65)",
  "hostile lease owners are data (H65)",
].map((test) => ({ test, reason: brevity }));

const reason = "a run in a bucket stores blobs for itself and its forks, not for unrelated runs";

/** Tests of the storage contract beyond what core needs: sharing a blob between unrelated runs. */
const sharedBlobTests = [
  "a blob is kept once: a second body under its name is ignored",
  "of 32 appends at one position, only the winner's blob is kept",
  "delete keeps a blob that another run names, and frees it with the last",
  "delete leaves no blob behind for a new run of the same id (H17)",
  "2,000 blobs in one append, and all of them again without their bodies",
].map((test) => ({ test, reason }));

/** Timers fire at once, so that a test with a thousand faults is as fast as one without. */
function fastWorld(now: () => number): World {
  return {
    ...systemWorld,
    now,
    timer: (_ms, fire) => {
      const handle = setTimeout(fire, 0);
      return () => clearTimeout(handle);
    },
  };
}

/** Registers the tests of a storage for `RemoteStorage` on a bucket. */
export function remoteConformance(
  name: string,
  open: OpenBucket,
  { faults = [], brief = false, sample = 1 }: BucketConformanceOptions = {},
): void {
  let seed = 0;
  const left = [...checks.keys()].filter((_, n) => n % sample !== 0);
  const kinds = faults === "all" ? "every fault" : faults.join(", ");
  const title = kinds === "" ? name : `${name} with ${kinds}`;
  storageConformance(
    `RemoteStorage on ${title}`,
    async ({ now }) => {
      const handle = await open();
      const buckets: FaultyBucket[] = [];
      const another = (): RemoteStorage => {
        const faulty = faultyBucket(handle.bucket, {
          random: seeded((seed += 1)),
          ...(faults === "all" ? {} : { faults }),
        });
        buckets.push(faulty);
        return new RemoteStorage(faulty, { world: fastWorld(now) });
      };
      return {
        storage: another(),
        reopen: () => Promise.resolve(another()),
        settled: () => Promise.resolve(buckets.forEach((faulty) => faulty.settle())),
        close: async () => {
          await Promise.all(buckets.map((faulty) => faulty.quiet()));
          await handle.close();
        },
      };
    },
    {
      skip: [
        ...left.map((test) => ({ test, reason: "it is not in the sample" })),
        ...sharedBlobTests,
        ...(brief ? long : []),
      ],
    },
  );
}

/** Registers the features of an app for `RemoteStorage` on a bucket. */
export function remoteFeatures(name: string, open: OpenBucket): void {
  storageFeatures(`RemoteStorage on ${name}`, async ({ now }) => {
    const handle = await open();
    const another = (): RemoteStorage => new RemoteStorage(handle.bucket, { world: fastWorld(now) });
    return {
      storage: another(),
      reopen: () => Promise.resolve(another()),
      close: () => handle.close(),
    };
  });
}

/** Registers every test of the bucket contract for one bucket. */
export function bucketConformance(
  name: string,
  open: OpenBucket,
  { brief = false }: Pick<BucketConformanceOptions, "brief"> = {},
): void {
  describe(`${name} keeps the bucket contract`, () => {
    for (const [title, check] of Object.entries(bucketChecks)) {
      if (brief && title.includes("thousand")) continue;
      // oxlint-disable-next-line vitest/expect-expect -- the checks hold the assertions
      it(`a bucket: ${title}`, async () => {
        const handle = await open();
        try {
          await check(handle.bucket);
        } finally {
          await handle.close();
        }
      });
    }
  });
}

const texts = [
  "",
  " ",
  "null",
  "\u0000",
  "\uFEFFmark",
  "line\r\nfeed",
  "日本語 🧑‍🚀 \u{10FFFF}",
  "x".repeat(2 ** 20),
];

const bucketChecks: Readonly<Record<string, (bucket: Bucket) => Promise<void>>> = {
  "get gives null for what is not there": async (bucket) => {
    expect(await bucket.get("nothing/here")).toBeNull();
  },

  "create writes once, and says so": async (bucket) => {
    expect(await bucket.create("a/b", "one")).toBe(true);
    expect(await bucket.create("a/b", "two")).toBe(false);
    expect(await bucket.create("a/b", "one")).toBe(false);
    expect(await bucket.get("a/b")).toBe("one");
  },

  "create lets exactly one of 32 win": async (bucket) => {
    for (let round = 0; round < 5; round++) {
      const tries = Array.from({ length: 32 }, (_, n) => bucket.create(`race/${round}`, `writer ${n}`));
      const won = await Promise.all(tries);
      expect(won.filter(Boolean)).toHaveLength(1);
      expect(await bucket.get(`race/${round}`)).toBe(`writer ${won.indexOf(true)}`);
    }
  },

  "put writes over what is there, and creates what is not": async (bucket) => {
    await bucket.put("a", "one");
    await bucket.put("a", "two");
    expect(await bucket.get("a")).toBe("two");
    expect(await bucket.create("a", "three")).toBe(false);
  },

  "texts come back as they were": async (bucket) => {
    for (const [n, text] of texts.entries()) {
      await bucket.create(`created/${n}`, text);
      await bucket.put(`put/${n}`, text);
      // Compared by ===, so that a failure does not print megabytes.
      for (const way of ["created", "put"]) expect((await bucket.get(`${way}/${n}`)) === text).toBe(true);
    }
  },

  "delete removes, also what is not there, and what was deleted can be created": async (bucket) => {
    for (const key of ["a", "b", "c"]) await bucket.create(key, key);
    await bucket.delete(["a", "nothing", "c"]);
    expect(await Promise.all(["a", "b", "c"].map((key) => bucket.get(key)))).toEqual([null, "b", null]);
    await bucket.delete([]);
    expect(await bucket.create("a", "again")).toBe(true);
  },

  "list gives keys in order, by prefix, after a key, and in pages": async (bucket) => {
    const keys = ["a", "a.b", "a/1", "a/10", "a/2", "a0", "b/1"];
    for (const key of keys.toReversed()) await bucket.create(key, "");
    const all = async (prefix: string, after = "", limit?: number): Promise<string[]> => {
      const found: string[] = [];
      for (let more = true; more;) {
        const last = found.at(-1) ?? after;
        const page = await bucket.list({ prefix, after: last, ...(limit === undefined ? {} : { limit }) });
        found.push(...page.keys);
        more = page.more;
      }
      return found;
    };
    expect(await all("")).toEqual(keys);
    expect(await all("a/")).toEqual(["a/1", "a/10", "a/2"]);
    expect(await all("a", "a/1")).toEqual(["a/10", "a/2", "a0"]);
    expect(await all("a/", "a/1", 1)).toEqual(["a/10", "a/2"]);
    expect(await all("nothing")).toEqual([]);
  },

  "list goes beyond a thousand keys": async (bucket) => {
    const keys = Array.from({ length: 1_005 }, (_, n) => `many/${String(n).padStart(5, "0")}`);
    for (let from = 0; from < keys.length; from += 20)
      await Promise.all(keys.slice(from, from + 20).map((key) => bucket.create(key, "")));
    const found: string[] = [];
    for (let more = true; more;) {
      const page = await bucket.list({
        prefix: "many/",
        ...(found.length === 0 ? {} : { after: found.at(-1) ?? "" }),
      });
      found.push(...page.keys);
      more = page.more;
    }
    expect(found).toEqual(keys);
    await bucket.delete(keys);
    expect((await bucket.list({ prefix: "many/" })).keys).toEqual([]);
  },
};
