/** The phase of a drive. */

import { DurableError } from "@durable/core";
import { expect, test } from "vitest";
import { after, begun, stopOf, type Phase } from "../../src/engine/phase.ts";

const error = new DurableError("diverged", "It does not fit.");
const [driving, leaving, parked]: Phase[] = [{ kind: "driving" }, { kind: "leaving" }, { kind: "parked" }];
const blocked: Phase = { kind: "blocked", error };
const lost: Phase = { kind: "stopped", stop: { kind: "lost" } };

const enter = (...phases: readonly (Phase | undefined)[]): Phase =>
  phases.reduce((phase, next) => after(phase as Phase, next as Phase)) as Phase;

test("phase.1. A drive does not go back", () => {
  expect(enter(driving, leaving)).toBe(leaving);
  expect(enter(driving, blocked, leaving)).toBe(blocked);
  expect(enter(driving, leaving, blocked)).toBe(blocked);
  expect(enter(driving, blocked, lost)).toBe(lost);
  expect(enter(driving, lost, blocked)).toBe(lost);
  expect(enter(driving, lost, parked)).toBe(lost);
  expect(enter(driving, parked, lost)).toBe(parked);
  expect(enter(driving, parked, leaving)).toBe(parked);
});

test("phase.2. A run that was blocked while it was parked is blocked in its next drive", () => {
  expect(begun(enter(driving, parked))).toEqual(driving);
  expect(begun(enter(driving, parked, blocked))).toEqual(blocked);
  expect(begun(enter(driving, blocked, parked as Phase))).toEqual(blocked);
});

test("a drive that goes on has no stop", () => {
  expect([driving, leaving, blocked].map((phase) => stopOf(phase as Phase))).toEqual([null, null, null]);
  expect(stopOf(parked as Phase)).toEqual({ kind: "suspended" });
  expect(stopOf(lost)).toEqual({ kind: "lost" });
});
