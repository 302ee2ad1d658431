/**
 * The contract of `Storage`, as tests: one call per adapter.
 *
 *     storageConformance("SqliteStorage", async ({ now }) => {
 *       const storage = new SqliteStorage({ path, now });
 *       return { storage, close: () => storage.close() };
 *     });
 *
 * Proven in test/conformance.test.ts.
 */

import { describe, it } from "vitest";
import { checks, runCheck, type Open } from "./checks.ts";

/** Options of `storageConformance`. */
export interface ConformanceOptions {
  /** Tests that this storage does not pass, by name, each with a reason, which is printed. */
  readonly skip?: readonly { readonly test: string; readonly reason: string }[] | undefined;
}

/** Registers every test of the storage contract for one storage; each test opens a fresh, empty one. */
export function storageConformance(name: string, open: Open, { skip = [] }: ConformanceOptions = {}): void {
  const skipped = new Map(skip.map(({ test, reason }) => [test, reason]));
  for (const test of skipped.keys()) if (!checks.has(test)) throw unknownTest(name, test);
  describe(`${name} keeps the storage contract`, () => {
    for (const [title, check] of checks) {
      const reason = skipped.get(title);
      const remark = reason === undefined ? "" : ` (skipped: ${reason})`;
      // oxlint-disable-next-line vitest/expect-expect -- the checks hold the assertions
      it.skipIf(reason !== undefined)(`${title}${remark}`, (context) =>
        runCheck(check, open, (why) => context.skip(why)),
      );
    }
  });
}

function unknownTest(name: string, test: string): Error {
  const known = [...checks.keys()].map((title) => `  ${title}`).join("\n");
  return new Error(
    `storageConformance("${name}") skips "${test}", which is not one of its tests. Tests:\n${known}`,
  );
}
