/** Repeats a failed request to a bucket, with the same bytes, until it succeeds, fails for good, or has failed too often. */

import { DurableError, describeError } from "../../values/errors.ts";
import { pause, type World } from "../../ports/world.ts";
import type { Bucket } from "../../ports/bucket.ts";

const mostTries = 6;
const firstWaitMs = 25;

export function patient(bucket: Bucket, world: World): Bucket {
  const ask = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (DurableError.is(error) && error.code !== "storage-busy") throw error;
        if (tries >= mostTries) throw failed(what, error);
      }
      await pause(world, firstWaitMs * 2 ** tries * (0.5 + world.random() / 2));
    }
  };
  return {
    get: (key) => ask(`read ${key}`, () => bucket.get(key)),
    create: (key, text) => ask(`write ${key}`, () => bucket.create(key, text)),
    put: (key, text) => ask(`write ${key}`, () => bucket.put(key, text)),
    list: (query) => ask(`list ${query.prefix}`, () => bucket.list(query)),
    delete: (keys) => ask("delete objects", () => bucket.delete(keys)),
  };
}

function failed(what: string, cause: unknown): DurableError {
  if (DurableError.is(cause)) return cause;
  return new DurableError(
    "storage-failed",
    `The bucket could not ${what} after ${mostTries} attempts (${describeError(cause)}). Try again later.`,
    { cause },
  );
}
