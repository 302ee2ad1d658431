import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { remoteFeatures } from "@durable/testing/conformance";
import { FolderBucket } from "../../../src/adapters/folder/index.ts";

remoteFeatures("FolderBucket", async () => {
  const path = await mkdtemp(join(tmpdir(), "durable-folder-"));
  return {
    bucket: new FolderBucket(path, { sync: false }),
    close: () => Promise.resolve(rmSync(path, { recursive: true, force: true, maxRetries: 5 })),
  };
});
