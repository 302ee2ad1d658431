import { describe, expect, it } from "vitest";
import { formatVersion, readBatch, writeBatch, writeFact } from "../../src/journal/batch.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import type { Fact, FactKind } from "../../src/journal/entry.ts";
import { traitsOf } from "../../src/journal/kinds.ts";
import { DurableError } from "../../src/values/errors.ts";
import { Chance } from "../support/codec-values.ts";
import { damaged } from "../support/codec-damage.ts";
import { codeOf, messageOf } from "../support/codec-failure.ts";

const at = 1_700_000_000_000;
const where = "Batch 3 of run r-17";
const called = { key: "parallel[a]/draft#2", after: 4 };
const attempted = { ...called, startedAt: at - 250, attempt: 2 };
const value: Json = { text: 'é "quoted" \ud800', list: [1, { $: "date", v: 5 }] };
const wait = "abcdefghij";
const nonce = "abcdefgh234567ab";

/** One or more facts of every kind: a kind that is missing here does not compile. */
const samples: { readonly [K in FactKind]: readonly (Fact<Json> & { kind: K })[] } = {
  "run.started": [
    { kind: "run.started", runId: "r-17", nonce, workflow: "loan", version: null, input: value },
    { kind: "run.started", runId: "r-17", nonce, workflow: "loan", version: "v2", input: null },
    { kind: "run.started", runId: "r-17", nonce, workflow: "", version: null, input: null },
    {
      kind: "run.started",
      runId: "c-1",
      nonce,
      workflow: "loan",
      version: null,
      input: value,
      childOf: { runId: "r-17", key: "map[a]/loan", after: 4 },
    },
    {
      kind: "run.started",
      runId: "r-17",
      workflow: "loan",
      version: null,
      input: null,
      nonce,
      flow: { slot: "customer 42", priority: 5, startAt: at + 100, singleton: "one a" },
    },
  ],
  "run.queued": [
    { kind: "run.queued", flow: { startAt: at + 500, singleton: "debounce a" }, input: value },
    { kind: "run.queued", flow: { slot: "a", startAt: at + 500 } },
    { kind: "run.queued", flow: { startAt: at + 500 }, begun: true },
  ],
  "run.failing": [{ kind: "run.failing", error: value, abandoned: ["late"] }],
  "run.cancelling": [
    { kind: "run.cancelling", reason: "not needed" },
    { kind: "run.cancelling", reason: null, unneeded: 0 },
  ],
  "cleanup.opened": [{ kind: "cleanup.opened", ...called }],
  "cleanup.started": [{ kind: "cleanup.started", ...called }],
  "cleanup.completed": [{ kind: "cleanup.completed", ...called }],
  "cleanup.failed": [{ kind: "cleanup.failed", ...called, error: value }],
  "run.continued": [
    {
      kind: "run.continued",
      runId: "r-17",
      workflow: "chat",
      version: null,
      input: { turn: 100 },
      nonce,
      chapter: 2,
      base: 41,
      first: "kxx2rkalw5vtx2fe",
      head: { createdAt: 1_000, steps: 12, label: null, parent: null, ancestors: [] },
      abandoned: ["late"],
    },
  ],
  "run.forked": [
    {
      kind: "run.forked",
      runId: "f-1",
      nonce,
      workflow: "loan",
      version: null,
      parent: "r-17",
      label: "cheaper",
      base: 12,
      ancestry: [
        { runId: "r-1", nonce, length: 4, base: 0, cuts: [] },
        { runId: "r-17", nonce, length: 9, base: 5, cuts: [{ key: "plan", at: 2, keep: true }] },
      ],
      edits: [
        { key: "plan", value },
        { key: "review", value: null, open: { after: 7, wait } },
        { key: "tokens", value: ["a"], open: { after: 8, kind: "stream" } },
        { key: "loan", value, open: { after: 8, kind: "child" } },
      ],
      input: value,
    },
    {
      kind: "run.forked",
      runId: "f-2",
      nonce,
      workflow: "loan",
      version: "v",
      parent: "r-17",
      label: null,
      base: 0,
      ancestry: [],
      edits: [],
    },
  ],
  "step.started": [
    { kind: "step.started", ...called, attempt: 1 },
    { kind: "step.started", ...called, attempt: 0, input: "fingerprint" },
  ],
  "step.progress": [{ kind: "step.progress", ...called, attempt: 2, value }],
  "step.completed": [
    { kind: "step.completed", ...attempted, value },
    { kind: "step.completed", ...called, startedAt: at, attempt: 1, value: null, input: "fingerprint" },
    { kind: "step.completed", ...called, startedAt: at + 5, attempt: 1, value: false },
  ],
  "step.failed": [{ kind: "step.failed", ...attempted, error: value }],
  "attempt.failed": [
    { kind: "attempt.failed", ...attempted, error: value, retryAt: at + 1_000 },
    { kind: "attempt.failed", ...attempted, stream: true, error: value, retryAt: at },
  ],
  "stream.chunks": [
    { kind: "stream.chunks", ...called, attempt: 1, from: 0, chunks: ["Hel", "lo"] },
    { kind: "stream.chunks", ...called, attempt: 2, from: 256, chunks: [value, null, 3] },
  ],
  "stream.completed": [
    { kind: "stream.completed", ...attempted, count: 258 },
    { kind: "stream.completed", ...called, startedAt: at, attempt: 1, count: 1, value: [value], input: "f" },
  ],
  "stream.failed": [{ kind: "stream.failed", ...attempted, error: value }],
  "child.opened": [{ kind: "child.opened", ...called, child: "c-1", workflow: "loan", input: "fingerprint" }],
  "child.completed": [{ kind: "child.completed", ...called, value }],
  "child.failed": [{ kind: "child.failed", ...called, error: value }],
  "child.closed": [{ kind: "child.closed", ...called }],
  "spawn.opened": [
    { kind: "spawn.opened", ...called, child: "c-2", workflow: "loan", input: "fingerprint" },
    {
      kind: "spawn.opened",
      ...called,
      child: "c-2",
      workflow: "loan",
      input: "fingerprint",
      onParentEnd: "cancel",
    },
  ],
  "spawn.started": [{ kind: "spawn.started", ...called, child: "c-2" }],
  "spawn.failed": [{ kind: "spawn.failed", ...called, error: value }],
  "tag.set": [{ kind: "tag.set", ...called, key: "#tag", tags: { customer: "42", old: null } }],
  "sleep.opened": [{ kind: "sleep.opened", ...called, until: at + 5, input: "5" }],
  "sleep.fired": [{ kind: "sleep.fired", ...called }],
  "suspend.opened": [
    { kind: "suspend.opened", ...called, wait, note: value, schema: { type: "string" }, expiresAt: at },
    { kind: "suspend.opened", ...called, wait, note: null, schema: null, expiresAt: null },
  ],
  "suspend.answered": [
    { kind: "suspend.answered", wait, value },
    { kind: "suspend.answered", wait, value: null, answerId: "mail-1" },
  ],
  "suspend.resolved": [
    { kind: "suspend.resolved", ...called, wait, value, answerId: "mail-1" },
    { kind: "suspend.resolved", ...called, wait, answer: 3 },
  ],
  "suspend.rejected": [{ kind: "suspend.rejected", ...called, wait, answer: 3, issues: "amount: too small" }],
  "suspend.expired": [
    { kind: "suspend.expired", ...called, wait },
    { kind: "suspend.expired", ...called, wait, value },
  ],
  "suspend.closed": [{ kind: "suspend.closed", ...called, wait }],
  "message.sent": [
    { kind: "message.sent", topic: "news", value },
    { kind: "message.sent", topic: "news", value: null, id: "mail-1" },
  ],
  "report.set": [{ kind: "report.set", ...called, value }],
  "parallel.opened": [
    { kind: "parallel.opened", ...called, branches: ["a", "b"] },
    { kind: "parallel.opened", ...called, branches: 3 },
  ],
  "race.opened": [{ kind: "race.opened", ...called, branches: ["a"] }],
  "run.suspended": [
    { kind: "run.suspended", wakeAt: null },
    { kind: "run.suspended", wakeAt: at },
    { kind: "run.suspended", wakeAt: null, look: at + 600_000 },
  ],
  "run.completed": [
    { kind: "run.completed", output: value },
    { kind: "run.completed", output: null, orphans: ["old"] },
  ],
  "run.failed": [{ kind: "run.failed", error: value, orphans: [] }],
  "run.cancelled": [
    { kind: "run.cancelled", reason: null },
    { kind: "run.cancelled", reason: "no longer needed" },
    { kind: "run.cancelled", reason: null, unneeded: 12 },
  ],
  "run.paused": [
    { kind: "run.paused", reason: null },
    { kind: "run.paused", reason: "maintenance" },
  ],
  "run.unpaused": [{ kind: "run.unpaused" }],
  "run.regressed": [
    { kind: "run.regressed", from: 9, to: 4, steps: [] },
    { kind: "run.regressed", from: 9, to: 4, steps: ["charge"] },
  ],
  "run.scored": [
    { kind: "run.scored", name: "helpful", score: 0.5 },
    { kind: "run.scored", name: "helpful", score: 0, note: value },
    { kind: "run.scored", name: "helpful", score: null },
  ],
  "run.retried": [
    { kind: "run.retried" },
    { kind: "run.retried", failed: ["map[a]/draft#2"], deadline: 1_900_000_000_000 },
    { kind: "run.retried", failed: ["draft", "pay"], deadline: null },
  ],
};
const facts: readonly Fact<Json>[] = Object.values(samples).flat();

const textsOf = (given: readonly Fact<Json>[]): string[] => given.map((fact) => writeFact(fact, at).text);
const batchOf = (...given: readonly Fact<Json>[]): string => writeBatch("driver.7", false, textsOf(given));
const raw = (changes: object): string =>
  JSON.stringify({ v: formatVersion, by: "driver.7", entries: [], ...changes });
const entryOf = (fact: Fact<Json>): Record<string, unknown> =>
  JSON.parse(writeFact(fact, at).text) as Record<string, unknown>;

describe("a batch", () => {
  it.each(facts.map((fact): [string, Fact<Json>] => [fact.kind, fact]))(
    "gives %s back as it was",
    (_, fact) => {
      const before = structuredClone(fact);
      const read = readBatch(batchOf(fact), where).facts;
      expect(read).toHaveLength(1);
      expect(read[0]?.at).toBe(at);
      expect(read[0]?.fact).toMatchObject(fact);
      // Nothing but the time and how long it took may be added.
      const added = Object.keys(read[0]?.fact ?? {}).filter((key) => !(key in fact));
      expect(["at", "took"]).toEqual(expect.arrayContaining(added));
      expect(fact).toEqual(before);
    },
  );

  it("batch.1 keeps order, writer and write id, and says who is outside", () => {
    const read = readBatch(batchOf(...facts), where);
    expect(read.facts.map(({ fact }) => fact.kind)).toEqual(facts.map(({ kind }) => kind));
    expect([read.driver, read.writeId, read.outside]).toEqual(["driver", "driver.7", false]);
    const outside = readBatch(writeBatch('odd".id.12', true, textsOf([facts[0]!])), where);
    expect([outside.driver, outside.writeId, outside.outside]).toEqual(['odd".id', 'odd".id.12', true]);
    for (const said of [1, "true", null, {}])
      expect(readBatch(raw({ outside: said }), where).outside).toBe(false);
  });

  it("batch.2 one write id, one text: writing the same facts again gives the same bytes", () => {
    for (const fact of facts) expect(batchOf(fact)).toBe(batchOf(structuredClone(fact)));
    expect(batchOf(facts[0]!, facts[1]!)).not.toBe(batchOf(facts[1]!, facts[0]!));
  });

  it("leaves out of a step's entry what goes without saying", () => {
    const [, plain] = samples["step.completed"];
    expect(entryOf(plain!)).toEqual({
      at,
      kind: "step.completed",
      ...called,
      value: null,
      input: "fingerprint",
    });
    expect(entryOf(samples["step.failed"][0]!)).toMatchObject({ took: 250, attempt: 2 });
  });

  it("H49 holds texts that are no valid Unicode as plain ASCII escapes", () => {
    expect(batchOf(samples["step.completed"][0]!)).toContain("\\ud800");
  });

  it("paid: what an attempt of a step or a stream gave, a child or a spawned run, and nothing else", () => {
    const attempts = facts.filter((fact) => traitsOf(fact).paid).map(({ kind }) => kind);
    expect([...new Set(attempts)].toSorted()).toEqual([
      "attempt.failed",
      "child.completed",
      "child.failed",
      "spawn.failed",
      "spawn.started",
      "step.completed",
      "step.failed",
      "step.progress",
      "stream.chunks",
      "stream.completed",
      "stream.failed",
    ]);
  });
});

describe("H51 what is no batch of ours", () => {
  it.each<[string, string]>([
    ["nothing", ""],
    ["half a batch", batchOf(...facts).slice(0, -10)],
    ["no JSON", "{v:1}"],
    ["null", "null"],
    ["a number", "5"],
    ["a list", "[]"],
    ["a text", '"{}"'],
    ["no version", raw({ v: undefined })],
    ["an older version than the first", raw({ v: 0 })],
    ["a version between two", raw({ v: 1.5 })],
    ["a version in words", raw({ v: "1" })],
    ["no writer", raw({ by: undefined })],
    ["a writer that is no text", raw({ by: 5 })],
    ["no entries", raw({ entries: undefined })],
    ["entries that are no list", raw({ entries: {} })],
    ["an entry of null", raw({ entries: [null] })],
    ["an entry that is a text", raw({ entries: ["step.completed"] })],
    ["an entry that is a list", raw({ entries: [[]] })],
    ["an entry of no kind", raw({ entries: [{ at }] })],
    ["an entry of unknown kind", raw({ entries: [{ at, kind: "step.done", ...called }] })],
    ["a kind of Object.prototype", raw({ entries: [{ at, kind: "constructor", ...called }] })],
    [
      "a time that is none",
      `{"v":${formatVersion},"by":"d.1","entries":[{"at":1e999,"kind":"run.suspended","wakeAt":null}]}`,
    ],
  ])("%s is `corrupt`", (_, text) => {
    expect(codeOf(() => readBatch(text, where))).toBe("corrupt");
    expect(messageOf(() => readBatch(text, where))).toMatch(
      /^Batch 3 of run r-17 was not written by this library/,
    );
  });

  it("H54 a newer format is said to be newer, whatever else is in it", () => {
    for (const text of [raw({ v: formatVersion + 1 }), '{"v":7}', '{"v":5,"entries":5}', '{"v":4.5}'])
      expect(codeOf(() => readBatch(text, where))).toBe("newer-format");
    expect(messageOf(() => readBatch('{"v":7}', where))).toMatch(/Batch 3 of run r-17.*format 7.*Upgrade/);
  });

  const numbers = ["at", "after", "until", "retryAt", "base", "answer", "from", "count", "look"];
  const sorted = [...numbers, "key", "wait", "runId", "workflow", "parent", "child"];
  it.each(facts.map((fact): [string, Fact<Json>] => [fact.kind, fact]))(
    "%s without its place, or with another sort of value in a field, is `corrupt`",
    (_, fact) => {
      for (const key of Object.keys(entryOf(fact))) {
        const { [key]: removed, ...rest } = entryOf(fact);
        const missing = readable(raw({ entries: [rest] }));
        const place = ["at", "kind", "key", "after"].includes(key);
        expect(missing, `${fact.kind} without ${key}`).toBe(place ? "corrupt" : missing);
        if (!sorted.includes(key)) continue;
        for (const odd of [{ odd: true }, typeof removed === "string" ? 5 : "5", null, []]) {
          const swapped = readable(raw({ entries: [{ ...rest, [key]: odd }] }));
          expect(swapped, `${fact.kind} with ${key} ${JSON.stringify(odd)}`).toBe("corrupt");
        }
      }
    },
  );

  it("a group without its branches, a sleep without its end, and odd deadlines are `corrupt`", () => {
    const bad: [Fact<Json>, object][] = [
      [samples["parallel.opened"][0]!, { branches: undefined }],
      [samples["parallel.opened"][0]!, { branches: "ab" }],
      [samples["race.opened"][0]!, { branches: {} }],
      [samples["sleep.opened"][0]!, { until: undefined }],
      [samples["suspend.opened"][0]!, { expiresAt: "soon" }],
      [samples["run.suspended"][0]!, { wakeAt: [] }],
    ];
    for (const [fact, change] of bad)
      expect(readable(raw({ entries: [{ ...entryOf(fact), ...change }] })), fact.kind).toBe("corrupt");
  });

  it("chunks that are no list, a child that is nobody and a parent that is none are `corrupt`", () => {
    const chunks = samples["stream.chunks"][0]!;
    const opened = samples["child.opened"][0]!;
    const child = samples["run.started"][3]!;
    const parent = child.childOf!;
    const bad: [Fact<Json>, object][] = [
      ...[undefined, null, 5, "ab", {}, { $: "date", v: 5 }].map((odd): [Fact<Json>, object] => [
        chunks,
        { chunks: odd },
      ]),
      [opened, { child: undefined }],
      ...[
        null,
        "r-17",
        [],
        { ...parent, runId: 5 },
        { ...parent, key: undefined },
        { ...parent, after: null },
      ].map((odd): [Fact<Json>, object] => [child, { childOf: odd }]),
    ];
    for (const [fact, change] of bad)
      expect(readable(raw({ entries: [{ ...entryOf(fact), ...change }] })), JSON.stringify(change)).toBe(
        "corrupt",
      );
    const sealed = { ...entryOf(chunks), chunks: { $: "sealed", v: "..." } };
    expect(readable(raw({ entries: [sealed] }))).toBe("read");
  });

  it("a fork whose ancestry or edits are no lists is `corrupt`", () => {
    const entry = entryOf(samples["run.forked"][0]!);
    for (const change of [{ ancestry: {} }, { edits: null }, { edits: "all" }])
      expect(readable(raw({ entries: [{ ...entry, ...change }] }))).toBe("corrupt");
    expect(readable(raw({ entries: [entry] }))).toBe("read");
  });

  it("thousands of damaged batches are read, or refused by code", () => {
    const found: Record<string, number> = {};
    const others: unknown[] = [];
    for (let seed = 1; seed <= 4_000; seed++) {
      const chance = new Chance(seed);
      const text = JSON.stringify(
        damaged(chance, JSON.parse(batchOf(chance.pick(facts), chance.pick(facts)))),
      );
      const seen = readable(text);
      if (typeof seen === "string") found[seen] = (found[seen] ?? 0) + 1;
      else others.push([seed, text, seen]);
    }
    expect(others).toEqual([]);
    expect(Object.keys(found).toSorted()).toEqual(["corrupt", "newer-format", "pre-release", "read"]);
  });

  it("H52 a bomb inside a value is read as it is, for the decoder to refuse", () => {
    const bomb = "[".repeat(100_000) + "]".repeat(100_000);
    const text = batchOf(samples["step.completed"][2]!).replace('"value":false', `"value":${bomb}`);
    expect(readable(text)).toBe("read");
  });
});

/** "read", or the code of the refusal; any other failure as it is. */
function readable(text: string): unknown {
  try {
    readBatch(text, where);
    return "read";
  } catch (error) {
    return DurableError.is(error) ? error.code : error;
  }
}
