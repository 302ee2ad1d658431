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

import { afterAll, describe, it } from "vitest";
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
  const untested = new Map<string, number>();
  describe(`${name} keeps the storage contract`, () => {
    afterAll(() => {
      if (untested.size > 0) console.info(notTested(name, untested));
    });
    for (const [title, check] of checks) {
      const reason = skipped.get(title);
      const remark = reason === undefined ? "" : ` (skipped: ${reason})`;
      // oxlint-disable-next-line vitest/expect-expect -- the checks hold the assertions
      it.skipIf(reason !== undefined)(`${title}${remark}`, (context) =>
        runCheck(check, open, (why) => {
          untested.set(why, (untested.get(why) ?? 0) + 1);
          return context.skip(why);
        }),
      );
    }
  });
}

/** What the tests that were left out would have been about. */
export function notTested(name: string, reasons: ReadonlyMap<string, number>): string {
  const list = [...reasons].map(([why, count]) => `${why.replace(/^this storage (?:has )?/, "")} (${count})`);
  return `${name}: ${[...reasons.values()].reduce((sum, n) => sum + n, 0)} tests left out: ${list.join(", ")}`;
}

function unknownTest(name: string, test: string): Error {
  const known = [...checks.keys()].map((title) => `  ${title}`).join("\n");
  return new Error(
    `storageConformance("${name}") skips "${test}", which is not one of its tests. Tests:\n${known}`,
  );
}
