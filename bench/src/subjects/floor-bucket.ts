/** The least that a journal in a bucket can do: one PUT per step, one at a time. */

import { MemoryBucket } from "@durable/core/remote";
import type { SubjectModule } from "../engine.ts";
import { entryText } from "./floor-entry.ts";
import { slowBucket } from "./slow-bucket.ts";

export const open: SubjectModule["open"] = async ({ bucketMs }, marks) => {
  const bucket = slowBucket(new MemoryBucket(), bucketMs);
  return {
    run: async ({ id, steps }) => {
      marks.begin();
      for (let i = 0; i < steps; i++) await bucket.create(`${id}/${i}`, entryText(i));
      marks.end();
    },
    close: async () => {},
  };
};
