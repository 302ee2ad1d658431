import { createApp, durable, MemoryStorage } from "@durable/core";
import type { Cipher } from "@durable/core/storage";
import { aesGcm, chainOf } from "@durable/core/encryption";
import { describe, expect, test } from "vitest";
import { failureOf, outputOf, tokenOf } from "../support/behaviour-lab.ts";
import { changedCopy, cipherOf, entryOf, sealedLab, storedRuns, type Stored } from "./support/sealed-lab.ts";
import { input, letters, parked, verdict } from "./support/sealed-letters.ts";

const of = (runs: Map<string, Stored>, runId = "r"): Stored => runs.get(runId) as Stored;
const withKeys = (more: object = {}): Cipher =>
  aesGcm({ current: "k1", keys: { k1: Uint8Array.from({ length: 32 }, (_, at) => at * 3 + 1) }, ...more });

/** A journal from before encryption was on. */
async function oldJournal() {
  const old = sealedLab(withKeys());
  const { encryption: _, ...plain } = { ...old };
  const first = await old.world.run(letters.with({ ...plain }).run(input, { id: "r" }));
  return { old, left: tokenOf(first, "left"), right: tokenOf(first, "right") };
}

describe("H68 somebody who can write to the storage, and has no key", () => {
  test.each<[string, RegExp, (r: Stored, s: Stored) => void]>([
    [
      "copies the batches of another run here",
      /is in the place of another run/,
      (r, s) => void (r.batches = structuredClone(s.batches)),
    ],
    [
      "appends an approval that points at the answer to another wait",
      /^Batch \d+ of run r has no seal/,
      (r) => {
        const { wait } = entryOf(r, "suspend.opened", "send") as unknown as { wait: string };
        const entries = [{ at: 1, kind: "suspend.resolved", key: "send", after: 0, wait, answer: 9 }];
        r.batches.push({ v: 4, by: "x.1", entries });
      },
    ],
    [
      "changes the attempt of a stream",
      /^Batch \d of run r was changed/,
      (r) => void (entryOf(r, "stream.chunks")["attempt"] = 2),
    ],
    [
      "changes where chunks begin",
      /^Batch \d of run r was changed/,
      (r) => void (entryOf(r, "stream.chunks")["from"] = 1),
    ],
    [
      "changes how many chunks there were",
      /^Batch \d of run r was changed/,
      (r) => void (entryOf(r, "stream.completed")["count"] = 1),
    ],
    ["changes a time", /^Batch 1 of run r was changed/, (r) => void (r.batches[1]!.entries[0]!["at"] = 1)],
    [
      "removes a batch from the middle",
      /^Batch 2 of run r does not follow the batch before it/,
      (r) => void r.batches.splice(2, 1),
    ],
    [
      "lets two batches change places",
      /^Batch 2 of run r does not follow/,
      (r) => void r.batches.splice(2, 2, r.batches[3]!, r.batches[2]!),
    ],
    [
      "takes the seal of the last batch away",
      /^Batch \d+ of run r has no seal/,
      (r) => void delete (r.batches.at(-1) as { seal?: string }).seal,
    ],
    [
      "takes all seals away",
      /^Batch \d+ of run r has no seal/,
      (r) => {
        for (const batch of r.batches as { seal?: string; after?: string }[]) {
          delete batch.seal;
          delete batch.after;
        }
      },
    ],
  ])("%s: tampered", async (_, message, change) => {
    const { lab, token } = await parked();
    const copy = await changedCopy(lab, (runs) => change(of(runs), of(runs, "s")));
    const error = await verdict(copy, token);
    expect([error.code, error.message]).toEqual(["tampered", expect.stringMatching(message)]);
  });

  test("cuts batches off at the end: an earlier state of the run, which no seal can show", async () => {
    const { lab } = await parked();
    const copy = await changedCopy(lab, (runs) => void (of(runs).batches.length -= 2));
    await expect(
      createApp({ ...copy, workflows: [letters] })
        .get("r")
        .outcome(),
    ).resolves.toBeDefined();
  });

  test("changes a parent: its fork is refused, too", async () => {
    const lab = sealedLab();
    const flow = durable("f", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("b", () => 2)]);
    await lab.world.run(flow.with({ ...lab }).run(undefined, { id: "r" }));
    const fork = await lab.world.run(flow.with({ ...lab }).fork("r", { from: "b", id: "f" }));
    await lab.world.run(fork.result());
    const copy = await changedCopy(lab, (runs) => void (entryOf(of(runs), "step.completed", "a")["at"] = 1));
    expect(
      await failureOf(
        flow
          .with({ ...copy })
          .get("f")
          .outcome(),
      ),
    ).toMatchObject({
      code: "tampered",
      message: expect.stringMatching(/^Batch 1 of run r was changed/),
    });
  });
});

describe("H68 without encryption", () => {
  test("a journal of another run, and an answer under another wait, are refused as well", async () => {
    const { encryption: _, ...lab } = sealedLab();
    const flow = durable("f", async (ctx) => [await ctx.suspend("a"), await ctx.suspend("b")]);
    for (const id of ["r", "s"]) {
      const first = await lab.world.run(flow.with({ ...lab }).run(undefined, { id }));
      await lab.world.run(flow.with({ ...lab }).resume(tokenOf(first), "yes"));
    }
    const moved = await changedCopy(lab as never, (runs) => void (of(runs).batches = of(runs, "s").batches));
    expect(
      await failureOf(
        flow
          .with({ ...moved, encryption: undefined })
          .get("r")
          .outcome(),
      ),
    ).toMatchObject({
      code: "tampered",
    });
    const forged = await changedCopy(lab as never, (runs) => {
      const { wait } = entryOf(of(runs), "suspend.opened", "a") as unknown as { wait: string };
      const fact = { at: 1, kind: "suspend.resolved", key: "b", after: 0, wait, value: "mine" };
      const batch = { v: 4, by: "x.1", outside: true, entries: [fact] };
      of(runs).batches.push(batch);
    });
    const outcome = await forged.world.run(
      createApp({ ...forged, encryption: undefined, workflows: [flow] }).advance("r"),
    );
    expect(outcome).toMatchObject({ status: "blocked", error: { code: "corrupt" } });
  });
});

describe("H68 a journal from before encryption", () => {
  test("opens with acceptPlain only; the next batch covers it, and nothing is rewritten", async () => {
    const { old, left, right } = await oldJournal();
    const strict = old.under(withKeys());
    expect(
      await failureOf(
        letters
          .with({ ...strict })
          .get("r")
          .outcome(),
      ),
    ).toMatchObject({
      code: "tampered",
      message: expect.stringMatching(/has no seal\. .*acceptPlain: true/),
    });
    const before = of(await storedRuns(old.storage)).batches;
    const lenient = old.under(withKeys({ acceptPlain: true }));
    await old.world.run(
      createApp({ ...lenient, workflows: [letters] }).resume(left, "to the left", { drive: false }),
    );
    const after = of(await storedRuns(old.storage)).batches;
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.slice(before.length).map((batch) => "seal" in batch)).toEqual([true]);
    // From now on the old batches cannot be changed either.
    const app = createApp({ ...lenient, workflows: [letters] });
    await old.world.run(app.resume(right, "to the right", { drive: false }));
    const sent = await old.world.run(app.advance("r"));
    const done = await old.world.run(letters.with({ ...lenient }).resume(tokenOf(sent, "send"), "yes"));
    expect(outputOf(done.outcome)).toBeDefined();
    const copy = await changedCopy(lenient, (runs) => void (of(runs).batches[1]!.entries[0]!["at"] = 1));
    expect(
      await failureOf(
        letters
          .with({ ...copy })
          .get("r")
          .outcome(),
      ),
    ).toMatchObject({ code: "tampered" });
    const bare = await changedCopy(lenient, (runs) => void of(runs).batches.push(before[1]!));
    const refused = letters.with({
      ...lenient,
      storage: bare.storage,
    });
    expect(await failureOf(refused.get("r").outcome()), "after a seal none may lack one").toMatchObject({
      code: "tampered",
    });
  });

  test("keys rotate in the middle of a chain, and a process without one of them says which batch", async () => {
    const lab = sealedLab();
    const first = await lab.world.run(letters.with({ ...lab }).run(input, { id: "r" }));
    const rotated = createApp({ ...lab.under(cipherOf("k2", "k1")), workflows: [letters] });
    await lab.world.run(rotated.resume(tokenOf(first, "left"), "x", { drive: false }));
    await lab.world.run(rotated.resume(tokenOf(first, "right"), "y", { drive: false }));
    expect(await lab.world.run(rotated.advance("r"))).toMatchObject({ status: "suspended" });
    const lacking = createApp({ ...lab.under(cipherOf("k1")), workflows: [letters] });
    expect(await failureOf(lacking.get("r").outcome())).toMatchObject({
      code: "no-key",
      message: expect.stringMatching(
        /^Batch \d+ of run r is sealed with a key that this process does not have/,
      ),
    });
  });
});

test("chainOf gives a cipher of one's own its seals", async () => {
  const own: Cipher = { ...withKeys(), chain: () => chainOf(own) };
  const storage = new MemoryStorage();
  const flow = durable("f", (ctx) => ctx.step("s", () => 1), { storage, encryption: own });
  expect(await flow.run(undefined, { id: "r" })).toMatchObject({ status: "completed", output: 1 });
  const { runs } = await storage.list();
  const { batches } = await storage.read(runs[0]!.locator);
  expect(batches.every((text) => /,"after":"[^"]*","seal":"[^"]+"\}$/.test(text))).toBe(true);
  await own.chain().check(batches, { runId: "r", position: 0 });
  await expect(own.chain().check(batches, { runId: "s", position: 0 })).rejects.toMatchObject({
    code: "tampered",
  });
  await expect(own.chain().check(batches.slice(1), { runId: "r", position: 2 })).rejects.toMatchObject({
    code: "tampered",
  });
});
