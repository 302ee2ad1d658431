import { createApp, durable, type DurableError } from "@durable/core";
import type { Cipher } from "@durable/core/storage";
import { describe, expect, test } from "vitest";
import { failureOf, outputOf, tokenOf } from "../support/behaviour-lab.ts";
import { textOf } from "../support/blobs-flow.ts";
import {
  cipherOf,
  lenientCipher,
  sealedLab,
  storedRuns,
  wrongCipher,
  type SealedLab,
  type Stored,
} from "./support/sealed-lab.ts";
import { input, letters, parked, verdict } from "./support/sealed-letters.ts";

describe("H68 keys", () => {
  test.each<[string, Cipher | null, string, RegExp]>([
    ["none was given", null, "no-key", /^Blob \w+ of run r is encrypted, but this process has no key/],
    [
      "the one that sealed is not there",
      cipherOf("k2"),
      "no-key",
      /^Batch 0 of run r is sealed with a key that this process does not have/,
    ],
    [
      "another key stands under its id",
      wrongCipher,
      "tampered",
      /^Batch 0 of run r was changed, moved, or sealed with another key/,
    ],
  ])("%s", async (_, cipher, code, message) => {
    const { lab, token } = await parked();
    const encryption = cipher === null ? null : lab.under(cipher).encryption;
    const error = await verdict(lab, token, encryption);
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
    // With the right one all goes on.
    const done = await lab.world.run(letters.with({ ...lab }).resume(token, "yes"));
    expect(outputOf(done.outcome)).toEqual([
      { plan: "first this, then that" },
      [input.text, textOf(51, 9_000)],
      'Step "fails" of run r failed: Error: no luck',
      ["one", "two"],
      ["to the left", "to the right"],
      "sent",
    ]);
  });

  test("a sweep tells which runs it could not read, and drives the others", async () => {
    const { lab } = await parked();
    const app = createApp({ ...lab, workflows: [letters] });
    const token = tokenOf(await app.get("s").outcome(), "send");
    await lab.world.run(app.resume(token, "yes", { drive: false }));
    const other = createApp({ ...lab.under(cipherOf("k2")), workflows: [letters] });
    expect(await lab.world.run(other.sweep())).toMatchObject({
      failed: [{ runId: "s", error: { code: "no-key" } }],
    });
    expect(await lab.world.run(app.sweep())).toMatchObject({
      outcomes: [{ runId: "s", status: "completed" }],
    });
  });
});

describe("H68 rotation", () => {
  const flow = durable("grows", async (ctx, input: string) => {
    const first = await ctx.step("first", () => [input, textOf(61, 9_000)]);
    const answer = await ctx.suspend<string>("ok", { note: input });
    return [...(await ctx.step("second", () => [...first, answer, textOf(62, 9_000)])), "end"];
  });
  const output = ["the input", textOf(61, 9_000), "yes", textOf(62, 9_000), "end"];
  const begun = async (lab: SealedLab): Promise<string> =>
    tokenOf(await lab.world.run(flow.with({ ...lab }).run("the input", { id: "r" })));
  const keyIds = async (lab: SealedLab, runId: string): Promise<Set<string>> => {
    const texts = JSON.stringify((await storedRuns(lab.storage)).get(runId)).matchAll(
      /1j?\.(k\d)\.[\w-]{30}/g,
    );
    return new Set(Array.from(texts, ([, id = ""]) => id));
  };

  test("in the middle of a run: the old key opens what it sealed, the new one seals from then on", async () => {
    const lab = sealedLab();
    const token = await begun(lab);
    expect(await keyIds(lab, "r")).toEqual(new Set(["k1"]));
    // A process that has the new key already, and does not use it yet.
    const ready = lab.under(cipherOf("k1", "k2"));
    expect(
      (
        await flow
          .with({ ...ready })
          .get("r")
          .outcome()
      ).status,
    ).toBe("suspended");
    const rotated = lab.under(cipherOf("k2", "k1"));
    const { outcome } = await lab.world.run(flow.with({ ...rotated }).resume(token, "yes"));
    expect(outputOf(outcome)).toEqual(output);
    expect(await keyIds(lab, "r")).toEqual(new Set(["k1", "k2"]));
    for (const later of [cipherOf("k2", "k1"), cipherOf("k1", "k2")])
      expect(
        outputOf(
          await flow
            .with({ ...lab.under(later) })
            .get("r")
            .outcome(),
        ),
      ).toEqual(output);
    for (const lacking of [cipherOf("k1"), cipherOf("k2")])
      expect(
        await failureOf(
          flow
            .with({ ...lab.under(lacking) })
            .get("r")
            .outcome(),
        ),
      ).toMatchObject({
        code: "no-key",
      });
  });

  test("a fork of a run from before: it is sealed with the new key, and needs both", async () => {
    const lab = sealedLab();
    const token = await begun(lab);
    await lab.world.run(flow.with({ ...lab }).resume(token, "yes"));
    const rotated = lab.under(cipherOf("k2", "k1"));
    const edit = { ok: "perhaps" };
    const fork = await lab.world.run(flow.with({ ...rotated }).fork("r", { edit, id: "f" }));
    expect(await lab.world.run(fork.result())).toEqual(output.with(2, "perhaps"));
    expect(await keyIds(lab, "f")).toEqual(new Set(["k2"]));
    const lacking = flow.with({ ...lab.under(cipherOf("k2")) });
    expect(await failureOf(lacking.get("f").outcome())).toMatchObject({
      code: "no-key",
      message: expect.stringMatching(/of run r is sealed with a key that this process does not have/),
    });
    const both = flow.with({ ...lab.under(cipherOf("k1", "k2")) });
    expect(outputOf(await both.get("f").outcome())).toEqual(output.with(2, "perhaps"));
  });
});

describe("H68 journals from before there was a cipher", () => {
  test("are refused; with acceptPlain they go on, and what is written from then on is sealed", async () => {
    const lab = sealedLab();
    const { encryption: _, ...open } = lab;
    const first = await lab.world.run(letters.with({ ...open }).run(input, { id: "r" }));
    const left = tokenOf(first, "left");
    const plain = await storedRuns(lab.storage);
    expect(JSON.stringify(plain.get("r")).includes('"$":"sealed"')).toBe(false);
    expect(await verdict(lab, left)).toMatchObject({
      code: "tampered",
      message: expect.stringMatching(/has no seal\. .*acceptPlain: true/),
    });
    const lenient = lab.under(lenientCipher);
    const app = createApp({ ...lenient, workflows: [letters] });
    for (const key of ["left", "right"]) await lab.world.run(app.resume(tokenOf(first, key), key));
    const { outcome } = await lab.world.run(app.resume(tokenOf(await app.get("r").outcome(), "send"), "yes"));
    expect(outputOf(outcome)).toMatchObject({ 4: ["left", "right"], 5: "sent" });
    const { batches } = (await storedRuns(lab.storage)).get("r") as Stored;
    const before = plain.get("r")?.batches.length ?? 0;
    expect(batches.slice(0, before)).toEqual(plain.get("r")?.batches);
    const later = JSON.stringify(batches.slice(before));
    expect(/"(value|output|note)":(?!\{"\$":"sealed")/.exec(later)).toBe(null);
    // Nobody without the key reads the end; nobody who insists on it reads the beginning.
    for (const other of [open, lab])
      expect(["no-key", "tampered"]).toContain(
        (
          (await failureOf(
            letters
              .with({ ...other })
              .get("r")
              .outcome(),
          )) as DurableError
        ).code,
      );
  });
});
