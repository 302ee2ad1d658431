/** RemoteStorage: journals in an object store, over a `Bucket`. */

export { RemoteStorage, type RemoteOptions } from "./adapters/remote/storage.ts";
export type { Rebuilt } from "./adapters/remote/rebuild.ts";
export { MemoryBucket } from "./adapters/remote/memory-bucket.ts";
export type { Bucket, BucketPage, BucketQuery } from "./ports/bucket.ts";
