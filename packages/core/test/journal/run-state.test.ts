import { expect, test } from "vitest";
import { stateOf, type RunStateName } from "../../src/journal/run-state.ts";

type Head = Parameters<typeof stateOf>[0];

const quiet: Head = { status: "suspended", workflow: "w", wakeAt: null };
const asking: Head = { ...quiet, waits: { count: 1, expiresAt: null } };

/** What each head says, at the time 100. */
const rows: readonly (readonly [RunStateName, Head, boolean])[] = [
  ["completed", { ...asking, status: "completed", driven: true, mark: "cancelling" }, true],
  ["failed", { ...asking, status: "failed", driven: true }, true],
  ["cancelled", { ...asking, status: "cancelled", driven: true }, true],
  ["blocked", { ...asking, status: "blocked", driven: true, mark: "cancelling" }, true],
  ["paused", { ...asking, status: "paused", driven: true, mark: "failing" }, false],
  ["paused", { ...asking, driven: true, mark: "cancelling" }, true],
  ["cancelling", { ...asking, mark: "cancelling", workflow: "", driven: true }, false],
  ["failing", { ...asking, mark: "failing", wakeAt: 0, driven: true }, false],
  ["open", { ...quiet, workflow: "", status: "running", wakeAt: 0, driven: true }, false],
  ["running", { ...asking, status: "running", wakeAt: 0, driven: true }, false],
  ["running", { ...asking, wakeAt: 0, driven: true }, false],
  ["running", { ...quiet, status: "running", wakeAt: 0 }, false],
  ["queued", { ...asking, status: "running", wakeAt: 0, driven: false }, false],
  ["queued", { ...asking, wakeAt: 100, driven: false }, false],
  ["waiting", { ...asking, wakeAt: 101, driven: false }, false],
  ["waiting", { ...quiet, wakeAt: 101, mark: "waiting" }, false],
  ["waiting", quiet, false],
  ["sleeping", { ...quiet, wakeAt: 101 }, false],
];

test.each(rows)("%s", (state, head, paused) => {
  expect(stateOf(head, { now: 100, paused })).toBe(state);
});
