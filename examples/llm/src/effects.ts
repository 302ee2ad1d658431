/**
 * For crash tests: writes a line before and after every call of a step's body, to a file that the library
 * does not know. A body that ran twice has its lines twice.
 */

import { appendFileSync } from "node:fs";
import type { Watcher } from "./watch.ts";

export function effectsFile(path: string): Watcher {
  return {
    began: ({ key, idempotencyKey }) => appendFileSync(path, `began ${key} ${idempotencyKey}\n`),
    ended: ({ key, idempotencyKey }) => appendFileSync(path, `ended ${key} ${idempotencyKey}\n`),
  };
}
