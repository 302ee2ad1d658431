/** Stores that buckets are tried on: the two in this process, and R2 itself, by its binding and by its S3 API. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryBucket, type Bucket } from "@durable/core/remote";
import { FolderBucket } from "@durable/core/folder";
import { startR2 } from "../../packages/cloudflare/test/support/workerd-bucket.ts";
import { s3Bucket } from "../../packages/s3/src/index.ts";
import { credentials, startServer } from "../../packages/s3/test/server.ts";

export interface Store {
  /** A bucket that shares nothing with those of other prefixes. */
  open(prefix: string): Bucket;
  stop(): Promise<void>;
}

export const stores: Readonly<Record<string, () => Promise<Store>>> = {
  memory: () => Promise.resolve({ open: () => new MemoryBucket(), stop: () => Promise.resolve() }),
  folder: () => {
    const path = mkdtempSync(join(tmpdir(), "durable-soak-"));
    return Promise.resolve({
      open: (prefix) => new FolderBucket(join(path, prefix), { sync: false }),
      stop: () => Promise.resolve(rmSync(path, { recursive: true, force: true })),
    });
  },
  r2: startR2,
  s3: async () => {
    const server = await startServer();
    const place = { ...credentials, endpoint: server.endpoint, bucket: "journal", region: "auto" };
    return { open: (prefix) => s3Bucket({ ...place, prefix }), stop: () => server.stop() };
  },
};
