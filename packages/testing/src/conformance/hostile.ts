/** Names and ids are data (H65): stored and compared unchanged. Proven in test/conformance.test.ts. */

import type { RunHead } from "@durable/core";
import { expect } from "vitest";
import type { Checks, Subject } from "./subject.ts";

export const hostileNames: readonly string[] = [
  "it's",
  '"quoted"',
  "`back`",
  "x' OR '1'='1",
  "'; DROP TABLE runs; --",
  "1); DELETE FROM runs WHERE (1=1",
  "%",
  "_",
  "*",
  "$.workflow",
  '$[*] ? (@ == "x")',
  "a.b[0]",
  "\\",
  "\\'",
  "../../etc/passwd",
  "..\\..\\x",
  "/",
  "CON",
  "trailing.",
  "trailing ",
  " leading",
  "line\nfeed\r\n",
  "__proto__",
  "constructor",
  "null",
  "true",
  "0",
  "1e3",
  "?",
  ":name",
  "${x}",
  "<script>alert(1)</script>",
  "éé",
  "e\u0301e\u0301",
  "ÉÉ",
  "CASE",
  "case",
  "ß",
  "ss",
  "İ",
  "i",
  "日本語",
  "🧑‍🚀",
  "\u202Eright to left",
  "x".repeat(256),
];

async function expectLiteral(
  subject: Subject,
  values: readonly string[],
  make: (value: string) => Partial<RunHead>,
  filter: "workflow" | "parent" | null,
): Promise<void> {
  const made = new Map<string, RunHead>();
  for (const value of values) made.set(value, await subject.create(make(value)));
  expect((await subject.list({ limit: 200 })).runs).toEqual([...made.values()].toReversed());
  if (filter === null) return;
  for (const [value, head] of made) {
    expect((await subject.list({ [filter]: value })).runs, `of ${JSON.stringify(value)}`).toEqual([head]);
    expect(await subject.due({ [filter]: value }), `of ${JSON.stringify(value)}`).toEqual([head.locator]);
  }
  expect((await subject.list({ [filter]: "" })).runs).toEqual([]);
}

export const hostileChecks: Checks = {
  "hostile workflow names are data (H65)": (subject) =>
    expectLiteral(subject, hostileNames, (workflow) => ({ workflow }), "workflow"),

  "hostile parents are data (H65)": (subject) =>
    expectLiteral(subject, hostileNames, (parent) => ({ parent }), "parent"),

  "hostile run ids and labels are data (H65)": (subject) =>
    expectLiteral(subject, hostileNames, (value) => ({ runId: value, label: value }), null),

  "hostile lease owners are data (H65)": async (subject) => {
    const { storage, clock } = subject;
    const { locator } = await subject.create();
    for (const owner of hostileNames) {
      expect(await storage.lease(locator, owner, 1_000), `of ${JSON.stringify(owner)}`).not.toBeNull();
      expect(await storage.lease(locator, `${owner}x`, 1_000), `of ${JSON.stringify(owner)}`).toBeNull();
      await storage.release(locator, `${owner} `);
      expect(await storage.lease(locator, `${owner}x`, 1_000), `of ${JSON.stringify(owner)}`).toBeNull();
      clock.now += 1_000;
    }
  },

  "a label of nothing is not the same as none": async (subject) => {
    const empty = await subject.create({ label: "" });
    const none = await subject.create({ label: null });
    expect((await subject.list()).runs).toEqual([none, empty]);
  },

  "a NUL character in names is data (H65)": (subject) =>
    expectLiteral(
      subject,
      ["a", "a\u0000", "a\u0000b", "\u0000"],
      (value) => ({ workflow: value, label: value, runId: value }),
      "workflow",
    ),
};
