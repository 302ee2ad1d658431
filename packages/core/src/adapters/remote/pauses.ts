/**
 * Workflows that are paused: one object for each, so that operators who pause different ones at the same moment change
 * different objects. A sign says that something was paused at some time; without it, one read tells that nothing is.
 *
 *     paused                          the sign
 *     paused-workflows/<name's hash>  the pause of one workflow
 *
 * remote-pauses.1. The sign comes before the first pause, and stays.
 */

import type { Bucket } from "../../ports/bucket.ts";
import type { WorkflowPause } from "../../ports/storage.ts";
import { digest } from "../../values/hash.ts";
import { keysOf } from "./listing.ts";
import { damaged, readObject, writeObject } from "./record.ts";

const sign = "paused";
const prefix = "paused-workflows/";

export async function keepPause(
  bucket: Bucket,
  workflow: string,
  pause: WorkflowPause | null,
): Promise<void> {
  const key = prefix + digest(18, "pause", workflow);
  if (pause === null) return bucket.delete([key]);
  if ((await bucket.get(sign)) === null) await bucket.put(sign, writeObject({}));
  await bucket.put(key, writeObject({ pause }));
}

export async function pausesOf(bucket: Bucket): Promise<WorkflowPause[]> {
  if ((await bucket.get(sign)) === null) return [];
  const keys: string[] = [];
  for await (const key of keysOf(bucket, prefix)) keys.push(key);
  const pauses = await Promise.all(keys.map(async (key) => readPause(await bucket.get(key), key)));
  return pauses.filter((pause) => pause !== null);
}

/** `null` when it was unpaused since the keys were listed. A damaged one is refused: what it paused must not run. */
function readPause(text: string | null, key: string): WorkflowPause | null {
  if (text === null) return null;
  const { pause } = readObject(text, key) as { readonly pause?: WorkflowPause };
  if (typeof pause?.workflow !== "string") throw damaged(key);
  return pause;
}
