/** The contracts of `Storage` and `Bucket`, as vitest suites for adapters. */

export { storageConformance, type ConformanceOptions } from "./suite.ts";
export { storageFeatures } from "../features/suite.ts";
export { bucketConformance, remoteConformance, remoteFeatures } from "./bucket.ts";
export type { BucketConformanceOptions, BucketHandle, OpenBucket } from "./bucket.ts";
export type { Open, OpenOptions } from "./checks.ts";
export type { ConformanceHandle } from "./subject.ts";
