/** A bucket whose requests take a fixed time, as those to an object store do. */

import type { Bucket } from "@durable/core/remote";

/** Adds so many milliseconds to each request. */
export function slowBucket(bucket: Bucket, ms: number): Bucket {
  const slow = async <T>(request: () => Promise<T>): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return request();
  };
  return {
    get: (key) => slow(() => bucket.get(key)),
    create: (key, text) => slow(() => bucket.create(key, text)),
    put: (key, text) => slow(() => bucket.put(key, text)),
    list: (query) => slow(() => bucket.list(query)),
    delete: (keys) => slow(() => bucket.delete(keys)),
  };
}
