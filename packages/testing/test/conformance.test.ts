import { MemoryStorage, type Storage } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { describe, expect, it } from "vitest";
import { checks, runCheck, type Open } from "../src/conformance/checks.ts";
import { storageConformance } from "../src/conformance/index.ts";
import type { Check } from "../src/conformance/subject.ts";
import { notTested } from "../src/conformance/suite.ts";
import { chapterFaults } from "./support/conformance-chapter-faults.ts";
import { blobFaults } from "./support/conformance-blob-faults.ts";
import { journalFaults, type Fault } from "./support/conformance-journal-faults.ts";
import { endedFaults } from "./support/conformance-ended-faults.ts";
import { fleetFaults } from "./support/conformance-fleet-faults.ts";
import { lifeFaults } from "./support/conformance-life-faults.ts";
import { noteFaults } from "./support/conformance-note-faults.ts";
import { userFaults } from "./support/conformance-user-faults.ts";
import { scheduleFaults } from "./support/conformance-schedule-faults.ts";

/** The good storage, with the methods that the fault replaces. */
function faulty(good: MemoryStorage, fault: Partial<Storage>): Storage {
  return {
    append: (request) => good.append(request),
    read: (locator, from) => good.read(locator, from),
    list: (query) => good.list(query),
    lease: (locator, owner, ttlMs) => good.lease(locator, owner, ttlMs),
    release: (locator, owner, quietMs) => good.release(locator, owner, quietMs),
    delete: (locator) => good.delete(locator),
    readChapter: (locator) => good.readChapter(locator),
    dropChapters: (locator, before) => good.dropChapters(locator, before),
    note: (locator, note) => good.note(locator, note),
    changed: (locator, length, signal) => good.changed(locator, length, signal),
    claim: (request) => good.claim(request),
    deleteUnchanged: (heads) => good.deleteUnchanged(heads),
    spent: () => good.spent(),
    takeTurn: (name, owner, ttlMs) => good.takeTurn(name, owner, ttlMs),
    whenDue: (workflow, signal) => good.whenDue?.(workflow, signal) ?? Promise.resolve(),
    schedules: good.schedules,
    ...fault,
  };
}

/** The result of a test: passed, failed, or skipped. With a fault it may also hang. */
async function resultOf(title: string, fault?: Fault): Promise<string> {
  const check = checks.get(title);
  if (check === undefined) return "unknown test";
  const run = runCheck(
    check,
    ({ now }) => {
      const good = new MemoryStorage({ now, timer: (ms, fire) => systemWorld.timer(ms, fire) });
      const storage = faulty(good, fault?.(good) ?? {});
      return Promise.resolve({
        storage,
        reopen: () => Promise.resolve(good),
        close: () => Promise.resolve(),
      });
    },
    (reason) => {
      throw new Error(`skipped: ${reason}`);
    },
  ).then(
    () => "passed",
    (error: Error) => (error.message.startsWith("skipped") ? "skipped" : "failed"),
  );
  if (fault === undefined) return run;
  const late = new Promise<string>((resolve) => setTimeout(resolve, 1_000, "failed by hanging"));
  return Promise.race([run, late]);
}

const faults = [
  ...journalFaults,
  ...lifeFaults,
  ...fleetFaults,
  ...noteFaults,
  ...chapterFaults,
  ...blobFaults,
  ...endedFaults,
  ...scheduleFaults,
];

describe("the suite finds planted faults", () => {
  it.each(faults)("%s: one that %s", async (title, _what, fault) => {
    expect(await resultOf(title, fault)).toMatch(/^failed/);
    // The same test passes, or does not apply, without the fault.
    expect(await resultOf(title)).toMatch(/^(passed|skipped)$/);
  });
});

describe("the whole suite on a storage with one mistake of its author", () => {
  it.each(userFaults)("one that %s", async (_, fault) => {
    let found = "";
    for (const title of checks.keys())
      if (found === "" && (await resultOf(title, fault)).startsWith("failed")) found = title;
    expect(await resultOf(found)).toBe("passed");
  });
});

const unskipped = (reason: string): never => {
  throw new Error(reason);
};
const unopened: Open = () => Promise.reject(new Error("not opened"));

describe("storageConformance", () => {
  it("says which rule is broken and why it matters, and what was not tested", async () => {
    const fails = checks.get("append creates a run at position 0");
    const open: Open = ({ now }) => {
      const good = new MemoryStorage({ now });
      const read: Storage["read"] = async (locator) => ({ ...(await good.read(locator)), length: 9 });
      return Promise.resolve({ storage: faulty(good, { read }), close: () => Promise.resolve() });
    };
    const message = await runCheck(fails as Check, open, unskipped).then(
      String,
      (error: Error) => error.message,
    );
    expect(message).toMatch(
      /^This storage does not keep the rule "append creates a run at position 0"\. An append is a compare-and-swap.*\nexpected/s,
    );
    const reasons = new Map([
      ["this storage has no claim()", 12],
      ["this storage does not find runs by tags", 3],
    ]);
    expect(notTested("Mine", reasons)).toBe(
      "Mine: 15 tests left out: no claim() (12), does not find runs by tags (3)",
    );
  });

  it("refuses to skip an unknown test, and names the known ones", () => {
    const skip = [{ test: "lists newest frist", reason: "none" }];
    const register = (): void => storageConformance("mine", unopened, { skip });
    expect(register).toThrow(/"lists newest frist", which is not one of its tests/);
    expect(register).toThrow(/append creates a run at position 0/);
  });
});
