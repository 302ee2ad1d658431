/** A bucket that is asked again, with the same bytes, while its answer is that it has none now. */

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
        if (tries >= mostTries) throw silent(what, error);
      }
      await pause(world, firstWaitMs * 2 ** tries * (0.5 + world.random() / 2));
    }
  };
  return {
    get: (key) => ask(`a read of ${key}`, () => bucket.get(key)),
    create: (key, text) => ask(`a write of ${key}`, () => bucket.create(key, text)),
    put: (key, text) => ask(`a write of ${key}`, () => bucket.put(key, text)),
    list: (query) => ask(`a list of ${query.prefix}`, () => bucket.list(query)),
    delete: (keys) => ask("a deletion", () => bucket.delete(keys)),
  };
}

function silent(what: string, cause: unknown): DurableError {
  if (DurableError.is(cause)) return cause;
  return new DurableError(
    "storage-failed",
    `The bucket did not answer ${what} in ${mostTries} tries (${describeError(cause)}). Try again later.`,
    { cause },
  );
}
