/**
 * Workflows that are paused, in one object, because reading one object is the cheapest request that sees every write
 * before it. Two operators who change it at the same moment are settled by reading it back.
 */

import type { Bucket } from "../../ports/bucket.ts";
import type { WorkflowPause } from "../../ports/storage.ts";
import { DurableError } from "../../values/errors.ts";

const key = "paused";
const mostTries = 10;

export async function keepPause(
  bucket: Bucket,
  workflow: string,
  pause: WorkflowPause | null,
): Promise<void> {
  for (let tries = 0; tries < mostTries; tries++) {
    const all = await pausesOf(bucket);
    const known = all.find((one) => one.workflow === workflow);
    if (pause === null ? known === undefined : known?.since === pause.since && known.reason === pause.reason)
      return;
    const others = all.filter((one) => one.workflow !== workflow);
    await bucket.put(key, JSON.stringify(pause === null ? others : [...others, pause]));
  }
  throw new DurableError(
    "storage-busy",
    `Others changed the paused workflows ${mostTries} times while "${workflow}" was changed. Try again later.`,
  );
}

export async function pausesOf(bucket: Bucket): Promise<WorkflowPause[]> {
  const text = await bucket.get(key);
  return text === null ? [] : (JSON.parse(text) as WorkflowPause[]);
}
