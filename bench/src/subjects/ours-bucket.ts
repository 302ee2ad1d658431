/** Our engine on a bucket whose every request takes some time. Objects are in memory, or in a folder for a later process. */

import { join } from "node:path";
import { MemoryBucket, RemoteStorage, type Bucket } from "@durable/core/remote";
import type { SubjectModule } from "../engine.ts";
import { ours } from "./ours.ts";
import { slowBucket } from "./slow-bucket.ts";

export const open: SubjectModule["open"] = async ({ folder, lasting, bucketMs }, marks) => {
  const bucket = lasting ? await inFolder(join(folder, "bucket")) : new MemoryBucket();
  return ours(new RemoteStorage(slowBucket(bucket, bucketMs)), marks);
};

async function inFolder(path: string): Promise<Bucket> {
  const { FolderBucket } = await import("@durable/core/folder");
  return new FolderBucket(path, { sync: false });
}
