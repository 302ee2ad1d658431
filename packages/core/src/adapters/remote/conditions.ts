/**
 * Checks that a bucket supports conditional writes. Some stores accept the condition and ignore it; then both of two
 * competing drivers would get success.
 */

import { DurableError } from "../../values/errors.ts";
import type { Bucket } from "../../ports/bucket.ts";
import { layoutKey } from "./layout.ts";
import { readObject, writeObject } from "./record.ts";

/** Runs once per bucket, because later processes find the object that the first check wrote. */
export async function assertConditions(bucket: Bucket): Promise<void> {
  const found = await bucket.get(layoutKey);
  if (found !== null) return void readObject(found, layoutKey);
  const text = writeObject({});
  // False at the first try means that another process was faster or a reply was lost. Either way, the condition works.
  if (!(await bucket.create(layoutKey, text)) || !(await bucket.create(layoutKey, text))) return;
  await bucket.delete([layoutKey]);
  throw new DurableError(
    "no-storage",
    "The bucket cannot store journals, because it ignores conditional writes: `create` replaced an existing object. Use a store that supports If-None-Match on writes, such as R2, S3, MinIO or Ceph.",
    { details: { conditions: false } },
  );
}
