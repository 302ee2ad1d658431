/** Which entries a retry takes back, by the forms of their keys. */

import { describe, expect, test } from "vitest";
import type { Entry } from "../../src/journal/entry.ts";
import { withoutFailure } from "../../src/journal/taken-back.ts";

/** Entries as far as a retry looks at them. */
function entry(kind: string, key: string, more: Readonly<Record<string, unknown>> = {}): Entry {
  return { kind, key, seq: 1, ...more } as unknown as Entry;
}

function leftOf(entries: readonly Entry[], failed: readonly string[]): string[] {
  return withoutFailure(entries, { failed }).map((one) =>
    `${one.kind} ${"key" in one ? one.key : ""}`.trim(),
  );
}

/** Names of one letter, of several, with a number, and inside of branches. */
const steps = ["a", "pay", "pay#2", "all[one]/a", "all[one]/pay", "a[b]/c[d]/e"];

describe.each(steps)("of the failed step %s", (step) => {
  test.each([
    ["its own records", step],
    ["the question about it", `${step}/uncertain`],
    ["what is below the question", `${step}/uncertain/deadline`],
    ["its deadline", `${step}/deadline`],
    ["the deadline of a group of its name", `${step}[]/deadline`],
  ])("%s are taken back", (_, key) => {
    const others = steps.filter((one) => one !== step).map((one) => entry("step.completed", one));
    const left = leftOf([entry("step.failed", key), ...others], [step]);
    expect(left).toEqual(others.map((one) => `step.completed ${"key" in one ? one.key : ""}`));
  });

  test.each([
    ["a step whose name begins like it", `${step}x`],
    ["a step whose name ends like it", `x${step}`],
    ["the question about another", `x${step}/uncertain`],
    ["a group of its name", `${step}[]x/deadline`],
  ])("%s stays", (_, key) => {
    expect(leftOf([entry("step.completed", key)], [step])).toEqual([`step.completed ${key}`]);
  });

  test.each(["stream.chunks", "child.opened", "parallel.opened", "race.opened"])("%s stays", (kind) => {
    expect(leftOf([entry(kind, step)], [step])).toEqual([`${kind} ${step}`]);
  });
});

test("a fork opens a child of its own for one that it inherited as failed", () => {
  const entries = [
    entry("child.opened", "before", { seq: 1 }),
    { kind: "run.forked", seq: 2 } as unknown as Entry,
    entry("child.opened", "after", { seq: 3 }),
  ];
  expect(leftOf(entries, ["before", "after"])).toEqual(["run.forked", "child.opened after"]);
});

test("the wait of a question goes with everything that was said about it", () => {
  const entries = [
    entry("suspend.opened", "pay/uncertain", { wait: "w1" }),
    { kind: "suspend.resolved", wait: "w1", seq: 1 } as unknown as Entry,
    entry("suspend.opened", "ok", { wait: "w2" }),
    { kind: "suspend.resolved", wait: "w2", seq: 1 } as unknown as Entry,
  ];
  expect(leftOf(entries, ["pay"])).toEqual(["suspend.opened ok", "suspend.resolved"]);
});

test("the end is taken back, whatever has failed", () => {
  const entries = [entry("step.completed", "a"), { kind: "run.failed", seq: 1 } as unknown as Entry];
  expect(leftOf(entries, [])).toEqual(["step.completed a"]);
});
