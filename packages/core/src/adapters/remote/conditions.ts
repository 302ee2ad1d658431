/**
 * Whether a bucket keeps its promise to write only where there is nothing. Some stores take the condition and ignore
 * it: two drivers would then both be told that they had won.
 */

import { DurableError } from "../../values/errors.ts";
import type { Bucket } from "../../ports/bucket.ts";
import { layoutKey } from "./layout.ts";
import { readObject, writeObject } from "./record.ts";

/** Asked once for each bucket: whoever comes later finds the object that was left behind. */
export async function assertConditions(bucket: Bucket): Promise<void> {
  const found = await bucket.get(layoutKey);
  if (found !== null) return void readObject(found, layoutKey);
  const text = writeObject({});
  // Taken at the first try: somebody else was quicker, or a reply was lost; the condition held in any case.
  if (!(await bucket.create(layoutKey, text)) || !(await bucket.create(layoutKey, text))) return;
  await bucket.delete([layoutKey]);
  throw new DurableError(
    "no-storage",
    "The bucket cannot keep journals: it was asked to create an object only where there is none, and wrote over one. Use a store that keeps If-None-Match on writes, such as R2, S3, MinIO or Ceph.",
    { details: { conditions: false } },
  );
}
