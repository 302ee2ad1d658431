import type { MemoryStorage, Storage } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { checks, runCheck } from "../../testing/src/conformance/checks.ts";
import { blobFaults } from "../../testing/test/support/conformance-blob-faults.ts";
import { chapterFaults } from "../../testing/test/support/conformance-chapter-faults.ts";
import { fleetFaults } from "../../testing/test/support/conformance-fleet-faults.ts";
import { journalFaults, type Fault } from "../../testing/test/support/conformance-journal-faults.ts";
import { lifeFaults } from "../../testing/test/support/conformance-life-faults.ts";
import { noteFaults } from "../../testing/test/support/conformance-note-faults.ts";
import { openSchema } from "./support/open.ts";

// The server is that of inject("postgres").
const all = [...journalFaults, ...lifeFaults, ...fleetFaults, ...noteFaults, ...chapterFaults, ...blobFaults];
const faults = all.filter((_, n) => n % (inject("full") ? 1 : 24) === 0);

/** The storage, with the methods that the fault replaces. */
function faulty(good: Storage, fault: Fault): Storage {
  // A fault uses the port alone, whatever its type says.
  const replaced = fault(good as MemoryStorage);
  return new Proxy(good, {
    get: (target, name) => {
      const member: unknown = Reflect.get(replaced, name) ?? Reflect.get(target, name, target);
      return typeof member === "function" && !(name in replaced) ? member.bind(target) : member;
    },
  });
}

/** A fault that makes a test of waits wait for ever is found as well. Any other must be refused by its test. */
const longestMs = 5_000;
const mayHang = (title: string): boolean => /^(?:changed|whenDue) /.test(title);

async function isFound(title: string, fault: Fault): Promise<boolean> {
  const check = checks.get(title);
  if (check === undefined) throw new Error(`There is no test "${title}".`);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hangs = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, longestMs, true);
  });
  const fails = runCheck(
    check,
    ({ now }) => {
      const place = openSchema();
      const good = place.open({ now });
      return Promise.resolve({
        storage: faulty(good, fault),
        // The second handle has the fault as well, so that it is found whichever of the two wins a race.
        reopen: () => Promise.resolve(faulty(good, fault)),
        close: () => place.close(),
      });
    },
    (reason) => {
      throw new Error(`skipped: ${reason}`);
    },
  ).then(
    () => false,
    (error: Error) => !error.message.startsWith("skipped"),
  );
  return (mayHang(title) ? Promise.race([fails, hangs]) : fails).finally(() => clearTimeout(timer));
}

describe("the suite finds faults that are planted into Postgres", () => {
  test.each(faults)("%s: one that %s", async (title, _what, fault) => {
    expect(await isFound(title, fault)).toBe(true);
  });
});
