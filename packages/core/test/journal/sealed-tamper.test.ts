import { createApp } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf } from "../support/behaviour-lab.ts";
import {
  changedCopy,
  cipherOf,
  entryOf,
  storedRuns,
  swap,
  unchained,
  type Stored,
} from "./support/sealed-lab.ts";
import { letters, parked, ran, verdict } from "./support/sealed-letters.ts";

const of = (runs: Map<string, Stored>, runId = "r"): Stored => runs.get(runId) as Stored;
const sealedIn = (value: unknown): { v: string } => value as { v: string };

describe("H68 a record that was changed where it is stored is refused by name", () => {
  const plan = /^step\.completed of "plan" in batch 1 of run r cannot be decrypted\./;

  test.each<[string, RegExp, (r: Stored, s: Stored) => void]>([
    [
      "two outputs changed places",
      plan,
      (r) => swap(entryOf(r, "step.completed", "plan"), "value", entryOf(r, "step.completed", "draft")),
    ],
    [
      "an output became the input",
      /^run\.started in batch 0 of run r/,
      (r) => swap(entryOf(r, "run.started"), "input", entryOf(r, "step.completed", "plan"), "value"),
    ],
    [
      "an error and an output changed places",
      plan,
      (r) => swap(entryOf(r, "step.completed", "plan"), "value", entryOf(r, "step.failed"), "error"),
    ],
    [
      "two notes changed places",
      /^suspend\.opened of "(left|right)" in batch/,
      (r) => swap(entryOf(r, "suspend.opened", "left"), "note", entryOf(r, "suspend.opened", "right")),
    ],
    [
      "two answers changed places",
      /^suspend\.answered in batch/,
      (r) => {
        const [a, b] = r.batches
          .flatMap(({ entries }) => entries)
          .filter(({ kind }) => kind === "suspend.answered");
        swap(a!, "value", b!);
      },
    ],
    [
      "a value came from the same place of another run",
      plan,
      (r, s) => swap(entryOf(r, "step.completed", "plan"), "value", entryOf(s, "step.completed", "plan")),
    ],
    [
      "a whole batch came from another run",
      plan,
      (r, s) => ([r.batches[1], s.batches[1]] = [s.batches[1]!, r.batches[1]!]),
    ],
    [
      "two batches changed places",
      /of run r cannot be decrypted/,
      (r) => void r.batches.splice(1, 2, r.batches[2]!, r.batches[1]!),
    ],
    [
      "its end was cut off",
      plan,
      (r) => {
        const value = sealedIn(entryOf(r, "step.completed", "plan")["value"]);
        value.v = value.v.slice(0, -6);
      },
    ],
    [
      "one character of it changed",
      plan,
      (r) => {
        const value = sealedIn(entryOf(r, "step.completed", "plan")["value"]);
        value.v = `${value.v.slice(0, 40)}${value.v[40] === "A" ? "B" : "A"}${value.v.slice(41)}`;
      },
    ],
    [
      "nothing but the mark is left",
      plan,
      (r) => void (entryOf(r, "step.completed", "plan")["value"] = { $: "sealed" }),
    ],
    [
      "the step has another key",
      /^step\.completed of "plan b" in batch 1 of run r/,
      (r) => void (entryOf(r, "step.completed", "plan")["key"] = "plan b"),
    ],
    [
      "an answer belongs to another wait",
      /^suspend\.answered in batch/,
      (r) => swap(entryOf(r, "suspend.answered"), "wait", entryOf(r, "suspend.opened", "send")),
    ],
    [
      "two blobs changed places",
      /^Blob \w{32} of run r cannot be decrypted\./,
      (r, s) => {
        const [[a, x] = ["", ""], [b, y] = ["", ""]] = Object.entries(r.blobs);
        for (const run of [r, s]) Object.assign(run.blobs, { [a]: y, [b]: x });
      },
    ],
    [
      "a blob was cut",
      /^Blob \w{32} of run r cannot be decrypted\./,
      (r, s) => {
        for (const { blobs } of [r, s])
          for (const [name, body] of Object.entries(blobs)) blobs[name] = body.slice(0, -9);
      },
    ],
  ])("%s", async (_, message, change) => {
    const { lab, token } = await parked(unchained(cipherOf("k1")));
    const copy = await changedCopy(lab, (runs) => change(of(runs), of(runs, "s")));
    const error = await verdict(copy, token);
    expect(error.code).toBe("tampered");
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(/changed, moved from another place, or encrypted with another key/);
    expect(JSON.stringify([error.message, error.details])).not.toContain("first this");
  });

  test.each<[string, RegExp, (r: Stored, s: Stored) => void]>([
    [
      "a value in clear",
      /^step\.completed of "plan" in batch 1 of run r is not encrypted/,
      (r) => void (entryOf(r, "step.completed", "plan")["value"] = { plan: "mine" }),
    ],
    [
      "null in clear",
      /^suspend\.opened of "right" in batch \d of run r is not encrypted/,
      (r) => void (entryOf(r, "suspend.opened", "right")["note"] = null),
    ],
    [
      "chunks in clear",
      /^stream\.chunks of "chunks" in batch \d of run r is not encrypted/,
      (r) => void (entryOf(r, "stream.chunks")["chunks"] = ["one", "two"]),
    ],
    [
      "an end that somebody added",
      /^run\.completed in batch \d+ of run r is not encrypted/,
      (r) =>
        void r.batches.push({ v: 4, by: "x.1", entries: [{ kind: "run.completed", at: 1, output: "mine" }] }),
    ],
    [
      "a blob in clear",
      /^Blob \w{32} of run r is not encrypted/,
      (r, s) => {
        for (const { blobs } of [r, s]) for (const name of Object.keys(blobs)) blobs[name] = '"mine"';
      },
    ],
  ])("envelope.2 %s is `tampered`", async (_, message, change) => {
    const { lab, token } = await parked(unchained(cipherOf("k1")));
    const error = await verdict(await changedCopy(lab, (runs) => change(of(runs), of(runs, "s"))), token);
    expect([error.code, error.message]).toEqual(["tampered", expect.stringMatching(message)]);
  });

  test("a value, or a blob, that was taken out is `corrupt`", async () => {
    const { lab, token } = await parked(unchained(cipherOf("k1")));
    const without = await changedCopy(lab, (runs) => {
      delete entryOf(of(runs), "step.completed", "plan")["value"];
    });
    expect(await verdict(without, token)).toMatchObject({
      code: "corrupt",
      message: expect.stringMatching(/^Batch 1 of run r was not written by this library/),
    });
    const empty = await changedCopy(lab, (runs) => {
      for (const run of runs.values()) run.blobs = {};
    });
    expect(await verdict(empty, token)).toMatchObject({
      code: "corrupt",
      message: expect.stringMatching(/^run\.started in batch 0 of run r refers to blob/),
    });
  });

  test("an answer that was turned to another wait by the number that points at it is `corrupt`", async () => {
    const { lab } = await parked(unchained(cipherOf("k1")));
    const copy = await changedCopy(lab, (runs) =>
      swap(
        entryOf(of(runs), "suspend.resolved", "left"),
        "answer",
        entryOf(of(runs), "suspend.resolved", "right"),
      ),
    );
    const before = await storedRuns(copy.storage);
    ran.length = 0;
    const app = createApp({ ...copy, workflows: [letters] });
    const outcome = await copy.world.run(app.advance("r"));
    expect(outcome).toMatchObject({ status: "blocked", error: { code: "corrupt" } });
    expect(outcome.status === "blocked" && outcome.error.message).toMatch(
      /answer to suspend point "(left|right)" is missing/,
    );
    expect(ran).toEqual([]);
    expect(await storedRuns(copy.storage)).toEqual(before);
    const fork = await copy.world.run(letters.with({ ...copy }).fork("r", { from: "send", id: "f" }));
    expect(await failureOf(copy.world.run(fork.result()))).toMatchObject({ code: "corrupt" });
  });
});
