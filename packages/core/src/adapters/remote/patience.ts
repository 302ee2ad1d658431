/**
 * Repeats a failed request to a bucket, with the same bytes, until it succeeds, fails for good, or its deadline has passed.
 *
 * patience.1. There is one deadline through all layers: what was given up here is not repeated above, and while no request
 *     has succeeded since, each further one is tried once.
 */

import { DurableError, describeError } from "../../values/errors.ts";
import { pause, type World } from "../../ports/world.ts";
import type { Bucket } from "../../ports/bucket.ts";

const deadlineMs = 20_000;
const firstWaitMs = 25;
const longestWaitMs = 2_000;

export function patient(bucket: Bucket, world: World): Bucket {
  let isDown = false;
  const ask = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const begin = world.now();
    for (let tries = 1, waited = 0; ; tries++) {
      try {
        const reply = await work();
        isDown = false;
        return reply;
      } catch (error) {
        if (DurableError.is(error) && error.code !== "storage-busy") throw error;
        if (isDown || Math.max(waited, world.now() - begin) >= deadlineMs) {
          isDown = true;
          throw failed(what, tries, error);
        }
      }
      const wait = Math.min(longestWaitMs, firstWaitMs * 2 ** tries) * (0.5 + world.random() / 2);
      waited += wait;
      await pause(world, wait);
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

function failed(what: string, tries: number, cause: unknown): DurableError {
  const details = { gaveUp: true };
  if (DurableError.is(cause)) return new DurableError(cause.code, cause.message, { cause, details });
  return new DurableError(
    "storage-failed",
    `The bucket could not ${what} after ${tries} attempts (${describeError(cause)}). Try again later.`,
    { cause, details },
  );
}
