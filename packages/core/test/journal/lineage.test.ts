import { waitOf } from "../../src/journal/keys.ts";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/values/codec/tags.ts";
import type { Ancestor, Cut, Edit, Entry, Fact } from "../../src/journal/entry.ts";
import { isSettlement } from "../../src/journal/kinds.ts";
import { inherit, isKept } from "../../src/journal/lineage.ts";
import { Chance } from "../support/codec-values.ts";

type Forked = Entry & { kind: "run.forked" };
const from = (key: string, at: number): Cut => ({ key, at, keep: false });
const after = (key: string, at: number): Cut => ({ key, at, keep: true });

const started = (input: Json): Fact<Json> => ({
  kind: "run.started",
  runId: "p",
  nonce: "n",
  workflow: "w",
  version: null,
  input,
});
const step = (key: string, at: number, value: Json = key): Fact<Json> => ({
  kind: "step.completed",
  key,
  after: at,
  value,
  attempt: 1,
  startedAt: 5,
});
const wait = (key: string): string => waitOf(key, "n");
const opened = (key: string, at: number): Fact<Json> => ({
  kind: "suspend.opened",
  key,
  after: at,
  wait: wait(key),
  note: null,
  schema: null,
  expiresAt: null,
});
const answered = (key: string, value: Json): Fact<Json> => ({
  kind: "suspend.answered",
  wait: wait(key),
  value,
});
const resolved = (key: string, at: number, more: object): Fact<Json> => ({
  kind: "suspend.resolved",
  key,
  after: at,
  wait: wait(key),
  ...more,
});
const failedOnce = (key: string, at: number): Fact<Json> => ({
  kind: "attempt.failed",
  key,
  after: at,
  error: "e",
  retryAt: 9,
  attempt: 1,
  startedAt: 5,
});

/** Entries numbered from `base + 1`, frozen: nothing an ancestor wrote may change (lineage.1). */
function journal(base: number, ...facts: readonly Fact<Json>[]): Entry[] {
  return facts.map((fact, i) =>
    Object.freeze({ ...fact, at: 1_000 + base + i, seq: base + i + 1, outside: false }),
  );
}

function fork(base: number, more: { edits?: readonly Edit<Json>[]; input?: Json } = {}): Forked {
  const about = {
    runId: `f${base}`,
    nonce: "n",
    workflow: "w",
    version: null,
    parent: "p",
    label: null,
    ancestry: [],
  };
  const place = { at: 5_000, seq: base + 1, outside: false };
  return { kind: "run.forked", ...about, base, edits: [], ...more, ...place };
}

/** The fork of one run, cut once or more. */
function ofOne(parent: readonly Entry[], cuts: readonly Cut[], forked = fork(parent.length)): Entry[] {
  return inherit([{ runId: "p", nonce: "n", length: 1, base: 0, cuts }], [parent], forked).entries;
}
/** A parent that was cut after its plan, and its fork that counts on from 5. */
function line(cuts: readonly Cut[]): Ancestor[] {
  return [
    { runId: "p", nonce: "n", length: 1, base: 0, cuts: [after("plan", 2), ...cuts] },
    { runId: "f4", nonce: "n", length: 1, base: 4, cuts },
  ];
}
const keysOf = (entries: readonly Entry[]): string[] =>
  entries.map((entry) => ("key" in entry ? entry.key : entry.kind));
const shown = (entries: readonly Entry[]): string[] =>
  entries.map((entry) => `${entry.seq} ${entry.kind} ${"key" in entry ? entry.key : ""}`);

describe("isKept", () => {
  it.each<[string, string, number, readonly Cut[], boolean]>([
    ["no cut keeps all", "draft", 9, [], true],
    ["from: the step itself goes", "plan", 1, [from("plan", 2)], false],
    ["after: the step itself stays", "plan", 1, [after("plan", 2)], true],
    ["what was called before stays", "draft", 1, [from("plan", 2)], true],
    ["what was called once it had settled goes", "draft", 2, [from("plan", 2)], false],
    ["what was called later goes", "draft", 7, [after("plan", 2)], false],
    ["a repeat is another step", "plan#2", 1, [from("plan", 2)], true],
    ["a repeat that came after goes", "plan#2", 2, [from("plan", 2)], false],
    ["a sibling branch stays, however late", "parallel[b]/x", 9, [from("parallel[a]/x", 4)], true],
    ["deep in a sibling branch stays", "parallel[b]/map[0]/y", 9, [after("parallel[a]/x", 4)], true],
    ["later in the same branch goes", "parallel[a]/y", 4, [from("parallel[a]/x", 4)], false],
    ["earlier in the same branch stays", "parallel[a]/w", 3, [from("parallel[a]/x", 4)], true],
    ["after the group goes", "decide", 9, [from("parallel[a]/x", 4)], false],
    ["another group goes", "parallel#2[b]/x", 9, [from("parallel[a]/x", 4)], false],
    ["the group's own entry stays", "parallel", 1, [from("parallel[a]/x", 4)], true],
    ["from a whole branch: what is in it goes", "parallel[a]/y", 1, [from("parallel[a]", 4)], false],
    ["from a whole branch: its sibling stays", "parallel[b]/y", 9, [from("parallel[a]", 4)], true],
    ["from a whole group: every branch goes", "parallel[b]/y", 1, [from("parallel", 4)], false],
    ["from a whole group: its entry goes", "parallel", 1, [from("parallel", 4)], false],
    ["after a whole group: every branch stays", "parallel[b]/y", 9, [after("parallel", 9)], true],
    ["nested: the sibling in the inner group stays", "g[a]/h[1]/x", 9, [from("g[a]/h[0]/x", 4)], true],
    ["nested: after the inner group goes", "g[a]/z", 9, [from("g[a]/h[0]/x", 4)], false],
    ["nested: the sibling in the outer group stays", "g[b]/h[0]/x", 9, [from("g[a]/h[0]/x", 4)], true],
    ["two cuts: both must keep it", "draft", 3, [from("plan", 2), after("late", 9)], false],
    ["two cuts: before both", "draft", 1, [from("plan", 2), after("late", 9)], true],
    ["two branches cut: each goes", "g[b]/x", 9, [from("g[a]/x", 4), from("g[b]/x", 5)], false],
    ["two branches cut: the third stays", "g[c]/x", 9, [from("g[a]/x", 4), from("g[b]/x", 5)], true],
  ])("%s", (...[, key, position, cuts, expected]) => {
    expect(isKept({ key, after: position }, cuts)).toBe(expected);
  });

  it("a further cut never brings anything back", () => {
    const chance = new Chance(1);
    const key = (): string =>
      chance.pick(["a", "a#2", "b", "g", "g[x]", "g[x]/a", "g[y]/a", "g[y]/h[0]/a", "g#2[x]/a"]);
    const cut = (): Cut => ({ key: key(), at: chance.below(9), keep: chance.below(2) === 0 });
    for (let i = 0; i < 2_000; i++) {
      const entry = { key: key(), after: chance.below(9) };
      const cuts = [cut(), cut()];
      const more = isKept(entry, [...cuts, cut()]);
      expect(more && !isKept(entry, cuts), `round ${i}`).toBe(false);
      expect(isKept(entry, cuts)).toBe(isKept(entry, cuts.toReversed()));
    }
  });
});

describe("inherit", () => {
  // 1 started, 2 plan, 3 opened, 4 a/x, 5 b/x, 6 a/y, 7 b/y, 8 decide
  const loan = journal(
    0,
    started("in"),
    step("plan", 1),
    { kind: "parallel.opened", key: "g", after: 2, branches: ["a", "b"] },
    step("g[a]/x", 2),
    step("g[b]/x", 2),
    step("g[a]/y", 4),
    step("g[b]/y", 5),
    step("decide", 7),
    { kind: "run.completed", output: 1 },
  );

  it("keeps what the cut keeps, in order, with positions as they were", () => {
    expect(shown(ofOne(loan, [from("g[a]/y", 6)]))).toEqual([
      "2 step.completed plan",
      "3 parallel.opened g",
      "4 step.completed g[a]/x",
      "5 step.completed g[b]/x",
      "7 step.completed g[b]/y",
    ]);
    expect(keysOf(ofOne(loan, [from("plan", 2)]))).toEqual([]);
    expect(keysOf(ofOne(loan, [after("plan", 2)]))).toEqual(["plan"]);
    expect(keysOf(ofOne(loan, [from("decide", 8)]))).toEqual([
      "plan",
      "g",
      "g[a]/x",
      "g[b]/x",
      "g[a]/y",
      "g[b]/y",
    ]);
    expect(keysOf(ofOne(loan, [from("g[a]", 4), from("g[b]/y", 7)]))).toEqual(["plan", "g", "g[b]/x"]);
    expect(ofOne(loan, [])[0]).toBe(loan[1]);
  });

  it("lineage.3 takes what settled, its history, groups and sleeps; leaves open waits, answers, ends and failures under way", () => {
    const mixed = journal(
      0,
      started("in"),
      { kind: "step.failed", key: "bad", after: 1, error: "e", attempt: 1, startedAt: 5 },
      failedOnce("flaky", 1),
      step("flaky", 1),
      failedOnce("still failing", 1),
      { kind: "sleep.opened", key: "nap", after: 1, until: 9, input: "9" },
      { kind: "sleep.fired", key: "nap", after: 1 },
      { kind: "sleep.opened", key: "under way", after: 1, until: 99, input: "99" },
      opened("asked", 1),
      answered("asked", "yes"),
      resolved("asked", 1, { answer: 10 }),
      opened("open", 1),
      opened("late", 1),
      { kind: "suspend.expired", key: "late", after: 1, wait: wait("late") },
      opened("lost", 1),
      { kind: "suspend.closed", key: "lost", after: 1, wait: wait("lost") },
      opened("refused", 1),
      answered("refused", "no"),
      { kind: "suspend.rejected", key: "refused", after: 1, wait: wait("refused"), answer: 18, issues: "x" },
      answered("early", "kept nowhere"),
      { kind: "race.opened", key: "race", after: 1, branches: ["a"] },
      { kind: "run.suspended", wakeAt: null },
      { kind: "run.failed", error: "e" },
      { kind: "run.cancelled", reason: null },
    );
    expect(shown(ofOne(mixed, []))).toEqual([
      "2 step.failed bad",
      "3 attempt.failed flaky",
      "4 step.completed flaky",
      "6 sleep.opened nap",
      "7 sleep.fired nap",
      "8 sleep.opened under way",
      "9 suspend.opened asked",
      "11 suspend.resolved asked",
      "13 suspend.opened late",
      "14 suspend.expired late",
      "21 race.opened race",
    ]);
  });

  it("an answer kept by reference is put in place; one of its own stays; null is a value", () => {
    const facts = [
      started("in"),
      answered("a", { yes: 1 }),
      answered("b", null),
      resolved("a", 1, { answer: 2 }),
      resolved("b", 1, { answer: 3 }),
      resolved("c", 1, { answer: 2, value: "checked" }),
      resolved("d", 1, { answer: 2, value: null }),
    ];
    const values = ofOne(journal(0, ...facts), []).map((entry) => ("value" in entry ? entry.value : "none"));
    expect(values).toEqual([{ yes: 1 }, null, "checked", null]);
  });

  it("an edit replaces what settled, in its place: steps, failures, waits that were answered or ran out", () => {
    const parent = journal(
      0,
      started("in"),
      failedOnce("plan", 1),
      { kind: "step.failed", key: "plan", after: 1, error: "e", attempt: 2, startedAt: 5 },
      opened("ask", 3),
      resolved("ask", 3, { value: "old" }),
      { kind: "suspend.expired", key: "late", after: 5, wait: wait("late") },
    );
    const edits = ["plan", "ask", "late"].map((key) => ({ key, value: `new ${key}` }));
    const entries = ofOne(parent, [], fork(6, { edits }));
    expect(shown(entries)).toEqual([
      "2 attempt.failed plan",
      "3 step.completed plan",
      "4 suspend.opened ask",
      "5 suspend.resolved ask",
      "6 suspend.resolved late",
    ]);
    expect(entries.filter(isSettlement)).toMatchObject([
      { value: "new plan", after: 1, at: parent[2]?.at },
      { value: "new ask", after: 3, wait: wait("ask") },
      { value: "new late", after: 5, wait: wait("late") },
    ]);
    expect(parent[4]).toMatchObject({ value: "old" });
  });

  it("an edit of what was still open settles where the fork begins", () => {
    const parent = journal(0, started("in"), step("plan", 1), opened("ask", 2), failedOnce("draft", 2));
    const edits: Edit<Json>[] = [
      { key: "ask", value: "yes", open: { after: 2, wait: wait("ask") } },
      { key: "draft", value: "text", open: { after: 2 } },
    ];
    const entries = ofOne(parent, [], fork(4, { edits }));
    expect(shown(entries)).toEqual([
      "2 step.completed plan",
      "5 suspend.resolved ask",
      "5 step.completed draft",
    ]);
    expect(entries[1]).toMatchObject({ value: "yes", after: 2, at: 5_000, wait: wait("ask") });
    expect(entries[2]).toMatchObject({ value: "text", after: 2, attempt: 1 });
  });

  it("the input is the parent's, unless the fork has one: null and undefined are inputs too", () => {
    const ancestry: Ancestor[] = [{ runId: "p", nonce: "n", length: 1, base: 0, cuts: [] }];
    const inputOf = (more: { input?: Json }): Json => inherit(ancestry, [loan], fork(9, more)).input;
    expect(inputOf({})).toBe("in");
    expect(inputOf({ input: "own" })).toBe("own");
    expect(inputOf({ input: null })).toBeNull();
    expect(inputOf({ input: false })).toBe(false);
    expect(inputOf({ input: { $: "undefined" } })).toEqual({ $: "undefined" });
  });
});

describe("a fork of a fork", () => {
  // The parent stands at 4; its fork counts on from 5, and the fork of that from 8.
  const parent = journal(0, started("in"), step("plan", 1), step("draft", 2), step("check", 3));
  const edits: Edit<Json>[] = [
    { key: "plan", value: "better plan" },
    { key: "ask", value: "yes", open: { after: 3, wait: wait("ask") } },
  ];
  const { at, seq, outside, ...first } = fork(4, { edits, input: "middle" });
  const middle = journal(4, first, step("draft", 2, "second draft"), step("check", 6, "second check"));
  it("lineage.2 sees both, each with its own cuts, on one line of positions", () => {
    const { entries, input, seeds } = inherit(line([from("check", 7)]), [parent, middle], fork(7));
    expect(shown(entries)).toEqual([
      "2 step.completed plan",
      "5 suspend.resolved ask",
      "6 step.completed draft",
    ]);
    expect(entries.filter(isSettlement)).toMatchObject([
      { value: "better plan" },
      { value: "yes" },
      { value: "second draft" },
    ]);
    expect(input).toBe("middle");
    expect(seeds).toEqual([
      { runId: "p", seed: "n", upTo: 4 },
      { runId: "f4", seed: "n", upTo: 7 },
    ]);
    expect([at, seq, outside]).toEqual([5_000, 5, false]);
  });

  it("a cut before an edit takes the edit with it", () => {
    const { entries } = inherit(line([from("plan", 2)]), [parent, middle], fork(7));
    expect(shown(entries)).toEqual([]);
  });

  it("edits of later forks win over earlier ones, and over the record", () => {
    const again = fork(7, { edits: [{ key: "plan", value: "best plan" }], input: null });
    const { entries, input } = inherit(line([after("plan", 2)]), [parent, middle], again);
    expect(entries).toMatchObject([{ key: "plan", value: "best plan", seq: 2 }]);
    expect(input).toBeNull();
  });
});
