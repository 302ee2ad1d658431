/** Two builds of the library on one storage: where they meet, the workflows that both have, and a process of each. */

import { join } from "node:path";
import {
  MemoryBucket,
  type App,
  type Bucket,
  type Cipher,
  type HostOptions,
  type Outcome,
  type RunHead,
  type Storage,
} from "@durable/core";
import { virtualWorld, type VirtualWorld } from "@durable/testing";
import { onTestFinished } from "vitest";
import { memoryFolder, tempFolder } from "../../support/sqlite-temp.ts";
import { notedCipher, notes } from "./noted-cipher.ts";
import type { Build } from "./packed-build.ts";
import { flowsOf, type Flows } from "./two-builds-flows.ts";

export const secret = "a secret for tests, of no worth";

/** A place for journals that several builds may open, each with its own adapter. */
export interface Site {
  readonly world: VirtualWorld;
  open(build: Build): Storage;
  /** A cipher of this build, with the one key of the site. */
  cipherOf(build: Build): Cipher;
}

export type SiteKind = "a SQLite file" | "a bucket in memory" | "a bucket in a folder";

export const siteKinds: readonly SiteKind[] = ["a SQLite file", "a bucket in memory", "a bucket in a folder"];

/** It goes with the test. */
export function siteOf(kind: SiteKind): Site {
  const temp = tempFolder(memoryFolder);
  const open: Storage[] = [];
  onTestFinished(async () => {
    for (const storage of open) await storage.close?.();
    temp.remove();
  });
  const kept = (storage: Storage): Storage => {
    open.push(storage);
    return storage;
  };
  const { hold, tracked, cipherOf } = tracking();
  const world = virtualWorld({ hold });
  const now = (): number => world.now();
  if (kind === "a SQLite file")
    return {
      world,
      cipherOf,
      open: (build) => kept(new build.sqlite.SqliteStorage({ path: temp.path, now })),
    };
  const shared = new MemoryBucket();
  const bucketOf = (build: Build): Bucket =>
    kind === "a bucket in memory"
      ? shared
      : tracked(new build.folder.FolderBucket(join(temp.folder, "bucket"), { sync: false }));
  return { world, cipherOf, open: (build) => kept(new build.core.RemoteStorage(bucketOf(build), { world })) };
}

/** Virtual time waits for files and for encryption, which take real time. */
function tracking() {
  const noting = notes();
  const { noted, hold } = noting;
  const tracked = (bucket: Bucket): Bucket => ({
    get: (key) => noted(bucket.get(key)),
    create: (key, text) => noted(bucket.create(key, text)),
    put: (key, text) => noted(bucket.put(key, text)),
    list: (query) => noted(bucket.list(query)),
    delete: (keys) => noted(bucket.delete(keys)),
  });
  const cipherOf = ({ encryption }: Build): Cipher => {
    const keys = { one: Uint8Array.from({ length: 32 }, (_, at) => at + 7) };
    return notedCipher(encryption.aesGcm({ current: "one", keys, acceptUnchained: true }), noting);
  };
  return { hold, tracked, cipherOf };
}

/** A process that has one of the builds: its storage, its workflows and its app. */
export interface Process {
  readonly build: Build;
  readonly world: VirtualWorld;
  readonly host: HostOptions & { readonly storage: Storage };
  readonly flows: Flows;
  readonly app: App;
}

export function processOf(site: Site, build: Build, given: Omit<HostOptions, "storage"> = {}): Process {
  const { world } = site;
  const host = { storage: site.open(build), world, secret, ...given };
  const flows = flowsOf(build.core);
  return { build, world, host, flows, app: build.core.createApp({ ...host, workflows: flows.all }) };
}

/** Tokens of the open waits, by key. */
export function tokensOf(outcome: Outcome<unknown> | undefined): Record<string, string> {
  const points = outcome?.status === "suspended" ? outcome.waiting : [];
  return Object.fromEntries(points.map(({ key, token }) => [key, token]));
}

/** Everything that a storage says about its runs: their batches and their heads. */
export async function contentOf(storage: Storage): Promise<Record<string, unknown>> {
  const heads: RunHead[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await storage.list({ cursor });
    heads.push(...page.runs);
    cursor = page.next;
  }
  const content: Record<string, unknown> = {};
  for (const head of heads) {
    const { batches, length, blobs } = await storage.read(head.locator);
    content[head.runId] = { head, batches, length, blobs };
  }
  return content;
}

/** A head as a build of format 2 gives it: such a build says nothing about the order of due runs. */
export function withoutOrder(head: RunHead): Omit<RunHead, "dueSince"> {
  const { dueSince, ...rest } = head;
  return dueSince === undefined ? head : rest;
}
