/** One grammar for searches of runs. */

import { describe, expect, test } from "vitest";
import type { ListedRun } from "@durable/core";
import { readSearch, runSearch, searchText, searchTime, searchValue } from "@durable/core/inspect";

const now = Date.parse("2026-11-18T12:00:00Z");
const run = (changes: Partial<ListedRun> = {}): ListedRun => ({
  locator: "l",
  runId: "order-42",
  workflow: "order",
  status: "failed",
  state: "failed",
  wakeAt: null,
  dueSince: null,
  createdAt: now - 1_000,
  updatedAt: now,
  steps: 1,
  label: "try again",
  parent: null,
  ancestors: [],
  tags: { customer: "42", team: "red, or blue" },
  version: "7",
  scores: { helpful: 0, "ai/tone": -0.5 },
  error: { code: "step-failed", key: "pay", group: "g", message: "429 Too many requests" },
  usage: [{ day: "2026-11-18", label: "pay", model: "m", inputTokens: 1, outputTokens: 1, cost: 0.75 }],
  ...changes,
});

function search(text: string, head = run()): boolean | readonly string[] {
  const { terms, problems } = readSearch(text);
  const found = runSearch(terms, { now, utc: true });
  const all = [...problems, ...found.problems];
  return all.length > 0 ? all : found.fits(head);
}

describe("a search", () => {
  test.each([
    ["status:failed", true],
    ["status:failed,blocked", true],
    ["status:done", false],
    ["status:sleeping", false],
    ["workflow:order tag:customer=42", true],
    ["tag:customer=43", false],
    ['tag:"team=red, or blue"', true],
    ["tag:customer=42 tag:team=green", false],
    ["version:6,7", true],
    ["since:1h", true],
    ["since:2026-11-18 until:2026-11-18", true],
    ["until:2026-11-17", false],
    ["since:2026-11-18T13:00", false],
    ["error:429", true],
    ["error:pay", true],
    ["error:timeout", false],
    ["cost>0.5", true],
    ["cost<0.5", false],
    ["cost:0.75", true],
    ["score:helpful<1", true],
    ["score:helpful=0", true],
    ["score:helpful", true],
    ["score:helpful>0", false],
    ["score:-1", false],
    ["score:other", false],
    ["score:helpful>=0,ai/tone<=-0.5", true],
    ["score:helpful<1 score:ai/tone>0", false],
    ["TOO requests", true],
    ["customer=42", true],
    ["try order-4", true],
    ["lisbon", false],
    ['"try again"', true],
    ["label:try", false],
    ["waiting:yes", false],
  ])("%s", (text, fits) => {
    expect(search(text)).toBe(fits);
  });

  test("with encryption, words are searched in ids, names, labels and tags, and in no value", () => {
    const asks = run({ waits: { count: 1, expiresAt: null, question: "Refund Lisbon?" } });
    const finds = (text: string, encrypted: boolean): boolean =>
      runSearch(readSearch(text).terms, { now, encrypted }).fits(asks);
    for (const text of ["requests", "lisbon", "429"])
      expect([finds(text, false), finds(text, true)], text).toEqual([true, false]);
    for (const text of ["order-42", "try", "customer=42", "red", "error:429"])
      expect(finds(text, true), text).toBe(true);
  });

  test("finds an open wait, whatever else the run does, and asks a storage that finds for it", () => {
    const asks = run({ status: "running", state: "running", waits: { count: 1, expiresAt: null } });
    expect(
      ["waiting:yes", "waiting:yes status:running", "waiting:yes status:suspended"].map((text) =>
        search(text, asks),
      ),
    ).toEqual([true, true, false]);
    const { terms } = readSearch("waiting:yes");
    expect(runSearch(terms, { now })).toMatchObject({ query: { waiting: true }, statuses: [], scans: false });
    const plain = runSearch(terms, { now, finds: false });
    expect([plain.query.waiting, plain.scans]).toEqual([undefined, true]);
    expect(search("waiting:no")).toEqual([expect.stringContaining("Write waiting:yes")]);
  });

  test("an open journal is open, and not running", () => {
    const journal = run({ workflow: "", status: "running", state: "open" });
    expect(
      ["status:running", "status:open", "status:running,open"].map((text) => search(text, journal)),
    ).toEqual([false, true, true]);
  });

  test.each([
    ["status:nope", /"nope" is not a status/],
    ["foo:bar", /"foo:bar" is not a filter/],
    ["since:yesterday", /since:yesterday is no time/],
    ["since:12", /is no time/],
    ["until:2026-13-45", /is no time/],
    ["tag:customer", /not a tag/],
    ["cost>much", /no amount/],
    ["workflow:", /lacks a value/],
  ])("%s is said", (text, problem) => {
    expect(search(text)).toEqual([expect.stringMatching(problem)]);
  });

  test("a text in quotes is a word, whatever it contains", () => {
    expect(search('"foo:bar"', run({ runId: "foo:bar-1" }))).toBe(true);
  });

  test("asks a storage for what it finds by indexes, and one that finds nothing for less", () => {
    const { terms } = readSearch("status:failed,completed workflow:a,b tag:customer=42 since:1d q:ord x");
    const { query, statuses } = runSearch(terms, { now });
    expect(statuses).toEqual(["completed", "failed"]);
    expect(query).toMatchObject({
      workflow: ["a", "b"],
      tags: { customer: "42" },
      createdAfter: now - 86_400_000,
      q: "ord",
    });
    expect(runSearch(terms, { now, finds: false }).query).toEqual({
      workflow: ["a", "b"],
      parent: undefined,
    });
  });

  test("a search by what a run does reads runs of every status", () => {
    const { statuses, fits } = runSearch(readSearch("status:failed,queued").terms, { now });
    expect(statuses).toEqual([]);
    expect(
      [run(), run({ status: "running", state: "queued" }), run({ status: "running", state: "running" })].map(
        fits,
      ),
    ).toEqual([true, true, false]);
  });

  test("its text and its terms are two ways to say the same", () => {
    const values = ["team=red, or blue", 'say "hi"', "a:b", "plain"];
    const text = `tag:${values.map(searchValue).join(",")} cost>0.5,<2 "two words" x`;
    const { terms } = readSearch(text);
    expect(readSearch(searchText(terms)).terms).toEqual(terms);
    expect(terms).toEqual({
      tag: '"team=red, or blue","say hi","a:b",plain',
      cost: ">0.5,<2",
      text: '"two words" x',
    });
  });
});

test("days begin in the zone of the reader, or in UTC", () => {
  expect(searchTime("2026-11-17", "since", { now, utc: true })).toBe(Date.parse("2026-11-17T00:00:00Z"));
  expect(searchTime("2026-11-17", "until", { now, utc: true })).toBe(Date.parse("2026-11-18T00:00:00Z"));
  expect(searchTime("2026-11-17", "since", { now })).toBe(new Date(2026, 10, 17).getTime());
  expect(searchTime("2026-11-17", "until", { now })).toBe(new Date(2026, 10, 18).getTime());
  expect(searchTime("2026-11-17T10:00", "since", { now, utc: true })).toBe(
    Date.parse("2026-11-17T10:00:00Z"),
  );
  expect(searchTime("90m", "since", { now })).toBe(now - 5_400_000);
});
