/**
 * For the crash tests: every call of a step's body leaves a line before its work and one after it, in a file
 * that the library knows nothing of. What ran twice, ran twice in there.
 */

import { appendFileSync } from "node:fs";
import type { Watcher } from "./watch.ts";

export function effectsFile(path: string): Watcher {
  return {
    began: ({ key, idempotencyKey }) => appendFileSync(path, `began ${key} ${idempotencyKey}\n`),
    ended: ({ key, idempotencyKey }) => appendFileSync(path, `ended ${key} ${idempotencyKey}\n`),
  };
}
